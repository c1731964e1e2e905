/**
 * One way into tenon, driven as its own users drive it. The same behaviours are
 * held on every surface; what a surface cannot have is named here, with the
 * reason, and in the table of docs/opencode.md.
 */

import type { Place } from "../lib/program.ts"

/** What every surface is held to. */
export const behaviours = [
  "identity",
  "directory",
  "allow and deny",
  "ask, answered once",
  "ask, answered always",
  "ask, rejected",
  "several asks at once",
  "abort",
  "sub-agent",
  "shell",
  "daemon restart",
] as const
export type Behaviour = (typeof behaviours)[number]

/** The verdicts of a scene's rules, by <server>_<tool>; the surface writes them where its user would. */
export type Rules = Record<string, "allow" | "ask" | "deny">

/** A surface. */
export interface Surface {
  name: string
  /** Behaviours it cannot have, and why. */
  without: Partial<Record<Behaviour, string>>
  start(rules: Rules): Promise<Running>
}

/** A surface with a daemon behind it, and a server `srv` of its own for each session. */
export interface Running {
  place: Place
  /** A new session, or one under the given parent. */
  agent(parent?: Agent): Promise<Agent>
  /** Runs `tenon …` as the user at a terminal. */
  tenon(...args: string[]): Promise<{ stdout: string; stderr: string; code: number }>
  /** The names of the tools that `srv` was called for, and the cancels with their reasons, in order. */
  journal(): { method?: string; params?: any }[]
  daemon(): number
  stop(): Promise<void>
}

/** A session as its host drives it. */
export interface Agent {
  /** Its id as the daemon knows it; empty until the daemon has told it. */
  id: string
  /** Starts a program. */
  begin(code: string): Program
  /** Runs a command in the session's shell and gives what it printed. */
  shell(command: string): Promise<string>
}

/** A program under way. */
export interface Program {
  /** What the agent gets: the result's text, or the failure's. */
  text: Promise<string>
  /** The n-th question (0 = first) that the program's user sees. */
  question(n?: number): Promise<Question>
  /** The user's cancel key. */
  abort(): Promise<void>
}

/** A question before the user. */
export interface Question {
  key: string
  answer(reply: "once" | "always" | "reject", words?: string): Promise<void>
}

/** Runs a program to its end. */
export function run(agent: Agent, code: string): Promise<string> {
  return agent.begin(code).text
}
