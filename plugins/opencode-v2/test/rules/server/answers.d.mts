export interface Message {
  jsonrpc: "2.0"
  id?: number | string
  method?: string
  params?: any
  result?: any
  error?: any
}
/** The double's side of one session. `send` takes what it says. */
export declare function session(send: (message: Message) => void): (message: Message) => void
