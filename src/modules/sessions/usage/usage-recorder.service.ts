import { Injectable, type OnModuleInit } from '@nestjs/common';
import { SessionTurnEnded, SessionTurnStarted } from '../../../contract/events/sessions.events.js';
import { event } from '../../../platform/event-log/event.js';
import type { TurnEnd, TurnUsage } from '../../../platform/runtime/port.js';
import type { SessionChanges } from '../session-store/session-changes.js';
import { SessionChangesService } from '../session-store/session-changes.service.js';
import type { SessionRow } from '../session-store/session-row.js';
import type { TurnStop } from './turn.js';
import { TurnsRepository } from './turns.repository.js';

/**
 * Keeps account of turns: when each began and ended, and what it has cost as far as the agent says so. The row of a turn begins once and
 * ends once, whoever ends it; the events go with that.
 */
@Injectable()
export class UsageRecorder implements OnModuleInit {
  constructor(
    private readonly repository: TurnsRepository,
    private readonly changes: SessionChangesService,
  ) {}

  onModuleInit(): void {
    this.changes.onEnded(async (changes, row, how) => {
      if (how !== 'stopped') return;
      for (const { turn, generation } of await this.repository.abandon(changes.tx, row.pk)) tellEnd(changes, row, turn, generation, 'lost');
    });
  }

  /** A turn begins. Repeating it changes nothing. */
  async begin(changes: SessionChanges, row: SessionRow, turn: number): Promise<void> {
    if (!(await this.repository.begin(changes.tx, row, turn))) return;
    const payload = { session_id: row.id, turn, generation: row.generation };
    changes.emit(event(SessionTurnStarted, { ...changes.facts(row), payload }));
  }

  /** The turn is over. False when it was over already, or is not this process's. */
  async finish(changes: SessionChanges, row: SessionRow, turn: number, stop: TurnStop | TurnEnd, usage: TurnUsage = {}): Promise<boolean> {
    const reason = typeof stop === 'string' ? stop : stop.stopReason;
    const isOver = await this.repository.update(changes.tx, row, turn, usage, reason);
    if (isOver) tellEnd(changes, row, turn, row.generation, reason);
    return isOver;
  }
}

function tellEnd(changes: SessionChanges, row: SessionRow, turn: number, generation: number, reason: string): void {
  const payload = { session_id: row.id, turn, generation, stop_reason: reason };
  changes.emit(event(SessionTurnEnded, { ...changes.facts(row), payload }));
}
