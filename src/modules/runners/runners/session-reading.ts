import type { Exit, RunningAgent, RuntimeEvent } from '../../../platform/runtime/port.js';
import type { OwnedSession } from './owned-session.js';
import { Recorder } from './recorder.js';
import type { RunnerContext } from './runner-context.js';
import type { SessionInbox } from './session-inbox.js';
import type { SessionTurns } from './session-turns.js';

export interface Reading {
  readonly owner: OwnedSession;
  readonly agent: RunningAgent;
  readonly recorder: Recorder;
  readonly turns: SessionTurns;
  readonly desk: SessionInbox;
}

/** What a process says goes into the log of its session. */
export function recorderOf({ log, logger, timings }: RunnerContext, owner: OwnedSession, epoch: number, fenced: () => void): Recorder {
  const { pk: sessionPk, generation } = owner.owned;
  return new Recorder(log, {
    sessionPk,
    generation,
    epoch,
    joinMs: timings.joinMs,
    held: () => owner.held,
    fenced,
    lost: (error) => logger.error({ err: error, session: sessionPk }, 'entries of a session could not be stored and are lost'),
  });
}

/** Hands what the process says to whom it is for, until there is nothing more. Answers how it has ended, where that is known; never rejects. */
export async function readAgent(reading: Reading, broken: (error: unknown) => void): Promise<Exit | undefined> {
  const { agent, recorder } = reading;
  let exit: Exit | undefined;
  try {
    for await (const event of agent.events) {
      if (event.type === 'exit') exit = event.exit;
      else await take(reading, event);
      await recorder.room();
    }
  } catch (error) {
    broken(error);
    // Its pipes must not fill: what it says from now on is nobody's, but its end still has to be seen.
    await agent.stop({ hard: true }).then(
      (ended) => (exit ??= ended),
      () => undefined,
    );
  }
  return exit;
}

async function take({ owner, recorder, turns, desk }: Reading, event: Exclude<RuntimeEvent, { type: 'exit' }>): Promise<void> {
  switch (event.type) {
    case 'text':
      return recorder.text(event);
    case 'entry':
      return recorder.entry(event);
    case 'usage':
      return turns.use(event.usage);
    case 'interaction':
      recorder.closeText();
      await recorder.flush();
      return desk.asked(event);
    case 'interaction_cleared':
      return desk.cleared(event.requestId);
    case 'title':
      return retitle(owner, event.title);
    case 'options':
      await owner.change((changes, row) => changes.patch(row, { option_schema: event.options }));
  }
}

/** A title that a person gave stays. */
async function retitle(owner: OwnedSession, title: string): Promise<void> {
  const text = title.trim().slice(0, 200).toWellFormed();
  await owner.change(async (changes, row) => {
    if (text !== '' && text !== row.title && (row.title === row.template || row.title === row.provider))
      await changes.patch(row, { title: text });
  });
}
