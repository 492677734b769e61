import type { AgentContext, AgentRequestParamsByMethod } from '@agentclientprotocol/sdk';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Mode } from './flags.js';
import type { Conversation } from './conversation.js';

/** A conversation in this process. */
export interface Session {
  readonly conversation: Conversation;
  mode: Mode;
  model: string;
  /** Of the turn that is under way. */
  cancel: AbortController | undefined;
  cost: number;
  /** As its client told it; they are not started. */
  servers: readonly McpServer[];
}

export type McpServer = AgentRequestParamsByMethod['session/new']['mcpServers'][number];

export class Cancelled extends Error {}

/** What a turn may do: say things, ask, wait. */
export class Talk {
  readonly said: string[] = [];
  usage: Record<string, number> | undefined;

  constructor(
    readonly session: Session,
    private readonly client: AgentContext,
    readonly signal: AbortSignal,
  ) {}

  async say(text: string): Promise<void> {
    this.said.push(text);
    await this.update({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } });
  }

  async update(update: { readonly sessionUpdate: string; readonly [member: string]: unknown }): Promise<void> {
    await this.client.notify<unknown>('session/update', { sessionId: this.session.conversation.id, update });
  }

  /** Asks for permission, unless the mode has decided. The answer is an option's id, or `cancelled`. */
  async ask(toolCall: { readonly toolCallId: string; readonly title: string; readonly [member: string]: unknown }): Promise<string> {
    if (this.session.mode !== 'ask') return this.session.mode;
    const answer = await this.client.request<{ outcome: { outcome: string; optionId?: string } }>('session/request_permission', {
      sessionId: this.session.conversation.id,
      toolCall,
      options: [
        { optionId: 'allow', name: 'Allow', kind: 'allow_once' },
        { optionId: 'always', name: 'Always allow', kind: 'allow_always' },
        { optionId: 'deny', name: 'Deny', kind: 'reject_once' },
      ],
    });
    if (answer.outcome.outcome !== 'selected') throw new Cancelled();
    return answer.outcome.optionId ?? '';
  }

  /** A request that a client without files and terminals refuses; the error's code. */
  async stray(path: string): Promise<number> {
    try {
      await this.client.request<unknown>('fs/read_text_file', { sessionId: this.session.conversation.id, path });
      return 0;
    } catch (error) {
      return (error as { code: number }).code;
    }
  }

  async wait(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.signal }).catch(() => undefined);
    if (this.signal.aborted) throw new Cancelled();
  }
}
