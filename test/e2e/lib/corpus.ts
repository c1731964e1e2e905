/**
 * Real MCP servers of npm, by the hundred tools. Their tools are listed when a
 * test runs and none is called, so that credentials can be made up. Listing was
 * seen, with strace, to open no connection; what could tell their makers of the
 * start is switched off all the same.
 */

import { join } from "node:path"
import { npmServer, root } from "./program.ts"

/** One server's entry of tenon's configuration. */
export type Entry = { command: string[]; env?: Record<string, string> }

const file = (path: string, ...args: string[]) => [process.execPath, join(root, "test/node_modules", path), ...args]

/** The servers; `directory` is one that the filesystem server may know. */
export function corpus(directory: string): Record<string, Entry> {
  const servers: Record<string, Entry> = {
    everything: { command: npmServer("everything") },
    filesystem: { command: npmServer("filesystem", directory) },
    memory: { command: npmServer("memory") },
    playwright: {
      command: file(
        "@playwright/mcp/cli.js",
        "--headless",
        "--caps=vision,pdf,testing,tracing,network,storage,devtools,config",
      ),
    },
    chrome: {
      command: file(
        "chrome-devtools-mcp/build/src/bin/chrome-devtools-mcp.js",
        "--no-usage-statistics",
        "--no-performance-crux",
        "--memoryDebugging",
        "--experimentalVision",
        "--categoryExtensions",
      ),
    },
    gitlab: {
      command: file("@zereight/mcp-gitlab/build/index.js"),
      env: { GITLAB_PERSONAL_ACCESS_TOKEN: "none", GITLAB_API_URL: "http://127.0.0.1:1", GITLAB_TOOLSETS: "all" },
    },
    notion: { command: file("@notionhq/notion-mcp-server/bin/cli.mjs"), env: { NOTION_TOKEN: "ntn_none" } },
    firecrawl: {
      command: file("firecrawl-mcp/dist/index.js"),
      env: { FIRECRAWL_API_KEY: "fc-none", FIRECRAWL_API_URL: "http://127.0.0.1:1" },
    },
    hubspot: { command: file("@hubspot/mcp-server/dist/index.js"), env: { PRIVATE_APP_ACCESS_TOKEN: "pat-none" } },
  }
  for (const server of Object.values(servers))
    server.env = { ...server.env, DO_NOT_TRACK: "1", CHROME_DEVTOOLS_MCP_NO_UPDATE_CHECKS: "1" }
  return servers
}
