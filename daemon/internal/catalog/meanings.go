package catalog

import (
	"strings"
	"sync"
)

// groups are words that people and models use for the same thing, a group a
// line; those behind "=" lead to the others but are not what others lead to. A
// word may be in several groups.
const groups = `
read open view show load cat print content = type get fetch see
get fetch retrieve obtain show read list = give
write save store put = persist dump
create make new add insert = mkdir touch generate
delete remove erase drop forget clear = rm unlink destroy
list enumerate ls = all show overview
search find query grep lookup locate = look seek filter
edit modify change update patch replace alter = fix rewrite sed
move rename mv = relocate
copy duplicate cp clone
run execute eval evaluate exec invoke = launch perform
click press tap push = hit
press key keyboard = hit shortcut hotkey
type fill enter input = write text
navigate visit browse goto go url open = load
url address link website site = web
page tab website site window = web
screenshot snapshot capture picture image photo = screengrab
image picture photo img icon media = png jpeg jpg base64
folder directory dir = path
file document = disk
javascript js script code function
network http request traffic xhr fetch = api
request response = body
dialog alert confirm popup prompt modal
dialog handle accept dismiss
hover mouse over
dropdown select option choose = pick menu combobox
switch select change = activate
resize size viewport window dimension
size = big large length bytes
dark colorscheme color scheme emulate = theme light media
mode emulate = theme
accessibility a11y aria snapshot
performance speed vital trace profile insight = lcp cls slow
slow throttle throttling emulate
heap memory leak = ram
record screencast video = movie film
css style = computed
wait sleep delay pause until = appear
environment env variable = config
number sum add plus = total calculate math arithmetic
compress zip gzip archive = tar
info stat metadata detail information = property attribute
permission allowed access = allow may
remember memory store observation entity = note fact save recall know memorize
forget delete remove
link relation connect relate edge = relationship
graph knowledge
whole all entire read = full complete everything
weather temperature forecast structured
console log message error = warn debug
upload attach
download save
back previous return history
forward next
close quit exit end shut
stop end cancel abort halt
start begin launch
email mail message
user person account member
issue ticket bug
message post chat send
database db sql table query
time date clock now
recursive tree = nested
progress long
echo repeat back
`

// translations lead from words of other languages to ours; what stands behind
// ":" is looked for. Enough for the verbs and things that most tools are about.
const translations = `
datei dateien fichier fichiers archivo archivos fichero ficheros arquivo file файл файлы файлов ファイル 文件 档案: file
ordner verzeichnis dossier repertoire répertoire carpeta carpetas directorio pasta папка папку каталог フォルダ 目录 文件夹: directory folder
lesen lies lire leer ler leggere читать прочитать 読む 読み 读取 讀取 阅读: read
schreiben écrire ecrire escribir escrever scrivere писать записать 書く 書き 写入: write
speichern sichern enregistrer guardar salvar salvare сохранить 保存: write save store
löschen loeschen entfernen supprimer effacer borrar eliminar apagar удалить 削除 删除 刪除: delete remove
anlegen erstellen erzeugen créer creer crear criar creare создать 作成 创建 創建 新建: create new
suchen suche finden chercher rechercher trouver buscar encontrar procurar cercare искать найти поиск 検索 搜索 查找 搜尋: search find
auflisten liste listen anzeigen lister afficher listar mostrar elencare показать список 一覧 列出 列表: list
ändern aendern bearbeiten modifier éditer editer editar modificar cambiar modificare изменить 編集 编辑 修改: edit
verschieben umbenennen déplacer deplacer renommer mover renombrar переместить переименовать 移動 移动 重命名: move rename
bildschirmfoto bildschirm écran ecran pantalla captura tela schermata снимок скриншот экрана 截图 截屏 截圖 スクリーンショット スク: screenshot
bild image imagen imagem immagine картинка изображение 画像 图片 圖片: image
seite webseite page página pagina страница страницу ページ 页面 網頁 网页: page
öffnen oeffnen aufrufen ouvrir abrir aprire открыть 開く 打开: open navigate
klicken klick anklicken cliquer clic clique clicar cliccare pulsar нажать кликнуть クリック 点击 點擊: click
knopf taste schaltfläche bouton botón boton botão pulsante кнопка кнопку ボタン 按钮: button
tippen eingeben saisir taper teclear introducir digitar digitare ввести 入力 输入: type fill
formular formulaire formulario formulário форма フォーム 表单: form
ausfüllen remplir rellenar preencher заполнить 填写: fill
warten attendre esperar aspettare ждать подождать 待つ 等待: wait
schließen schliessen fermer cerrar fechar chiudere закрыть 閉じる 关闭: close
netzwerk réseau reseau red rede rete сеть ネットワーク 网络: network
anfrage anfragen requête requete petición peticion solicitud запрос リクエスト 请求: request
nachricht message mensaje mensagem messaggio сообщение メッセージ 消息: message
senden envoyer enviar inviare отправить 送信 发送: send
größe groesse taille tamaño tamanho dimensione размер サイズ 大小: size
ausführen ejecutar exécuter executer executar eseguire выполнить запустить 実行 执行 运行: run execute
summe somme suma soma somma сумма 合計 求和: sum
addieren zahlen additionner sumar números numeros somar: sum add number
wetter météo meteo clima tiempo tempo погода 天気 天气: weather
umgebungsvariablen umgebung environnement entorno ambiente окружения 環境変数 环境变量: environment
hochladen téléverser telecharger subir carregar загрузить アップロード 上传: upload
speicher mémoire memoria memória память メモリ 记忆: memory
merken erinnern retenir recordar lembrar запомнить 記憶 记住: remember memory
graph wissensgraph graphe grafo граф グラフ 图谱: graph
`

// phrases are words that stand for several.
const phrases = `
mkdir: create directory
rmdir: delete directory
ls: list directory
cat: read file
rm: delete file
mv: move file
cp: copy file
grep: search file
url: navigate url
`

// expansions maps a word to the words that it stands for.
var expansions = sync.OnceValue(func() map[string][]string {
	out := map[string][]string{}
	for line := range strings.Lines(phrases) {
		word, several, _ := strings.Cut(line, ":")
		out[word] = strings.Fields(several) // the empty line gives nothing for the empty word
	}
	return out
})

// lexicon maps a stem to stems of the same meaning, made when first asked for:
// importing this package must cost a command nothing.
var lexicon = sync.OnceValue(func() map[string][]string {
	out := map[string][]string{}
	lead := func(from, to string) {
		if from, to = stem(from), stem(to); from != to {
			out[from] = append(out[from], to)
		}
	}
	for line := range strings.Lines(groups) {
		mutual, oneWay, _ := strings.Cut(line, " = ")
		all := strings.Fields(mutual)
		for _, from := range append(strings.Fields(oneWay), all...) {
			for _, to := range all {
				lead(from, to)
			}
		}
	}
	for line := range strings.Lines(translations) {
		foreign, ours, _ := strings.Cut(line, ":")
		for _, from := range strings.Fields(foreign) {
			for _, to := range strings.Fields(ours) {
				for _, token := range tokens(from) {
					lead(token, to)
				}
			}
		}
	}
	return out
})

// meanings are the stems that mean what a word means.
func meanings(word string) []string { return lexicon()[stem(word)] }
