import { Injectable, type OnModuleInit } from '@nestjs/common';
import type { Tx } from '../../../platform/database/transactions.js';
import type { TurnEnd, TurnUsage } from '../../../platform/runtime/port.js';
import { SessionChangesService } from '../session-store/session-changes.service.js';
import type { TurnOwner, TurnStop } from './turn.js';
import { TurnsRepository } from './turns.repository.js';

/** Keeps account of turns: when each began and ended, and what it has cost as far as the agent says so. */
@Injectable()
export class UsageRecorder implements OnModuleInit {
  constructor(
    private readonly repository: TurnsRepository,
    private readonly changes: SessionChangesService,
  ) {}

  onModuleInit(): void {
    this.changes.onEnded(async (changes, row, how) => {
      if (how === 'stopped') await this.repository.abandon(changes.tx, row.pk);
    });
  }

  /** A turn begins. Repeating it changes nothing. */
  begin(tx: Tx, row: TurnOwner, turn: number): Promise<void> {
    return this.repository.begin(tx, row, turn);
  }

  /** What the turn has cost so far; without members that are unknown. False when it is not this process's any more, or over. */
  update(row: TurnOwner, turn: number, usage: TurnUsage): Promise<boolean> {
    return this.repository.update(undefined, row, turn, usage);
  }

  /** The turn is over. False when it was over already, or is not this process's. */
  finish(tx: Tx, row: TurnOwner, turn: number, stop: TurnStop | TurnEnd, usage: TurnUsage = {}): Promise<boolean> {
    return this.repository.update(tx, row, turn, usage, typeof stop === 'string' ? stop : stop.stopReason);
  }
}
