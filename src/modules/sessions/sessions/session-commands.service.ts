import { Injectable } from '@nestjs/common';
import { SessionCommandsRepository } from './session-commands.repository.js';
import type { SessionChanges } from '../session-store/session-changes.js';
import type { SessionRow } from '../session-store/session-row.js';
import { SessionWatch, type Watching } from './session-watch.service.js';

export type CommandOutcome = 'done' | 'outlived' | 'unanswered' | { readonly failed: string };

/** What a runner is asked to do with a process that goes on. A command is for one process: the next one never sees it. */
@Injectable()
export class SessionCommands {
  constructor(
    private readonly repository: SessionCommandsRepository,
    private readonly watch: SessionWatch,
  ) {}

  /** Ends the current turn of a locked, live session early. Returns the command's key. */
  async interrupt(changes: SessionChanges, row: SessionRow): Promise<number> {
    return this.#ask(changes, row, 'interrupt', {});
  }

  /** Sets an option of the live agent. The body of the command is `{ key, value }`. Returns the command's key. */
  async setOption(changes: SessionChanges, row: SessionRow, key: string, value: string): Promise<number> {
    return this.#ask(changes, row, 'set_option', { key, value });
  }

  /** What came of a command whose transaction has committed. */
  async outcome(sessionPk: number, command: number, watching: Watching): Promise<CommandOutcome> {
    const found = await this.watch.until(sessionPk, watching, async (): Promise<CommandOutcome | undefined> => {
      const state = await this.repository.find(command);
      if (state === undefined) return 'outlived';
      if (state.status === 'done') return 'done';
      if (state.status === 'failed') return { failed: state.error ?? 'the agent refused it' };
      return state.outlived ? 'outlived' : undefined;
    });
    return found ?? 'unanswered';
  }

  async #ask(changes: SessionChanges, row: SessionRow, kind: 'interrupt' | 'set_option', body: object): Promise<number> {
    const pk = await this.repository.insert(changes.tx, row, kind, body);
    changes.touch(row);
    return pk;
  }
}
