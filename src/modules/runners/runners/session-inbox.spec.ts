import { describe, expect, it } from '@jest/globals';
import type { RunningAgent } from '../../../platform/runtime/port.js';
import type { InboxItem } from './inbox.repository.js';
import type { OwnedSession } from './owned-session.js';
import type { RunnerContext } from './runner-context.js';
import { RunnerTimings } from './runner-timings.js';
import { SessionInbox } from './session-inbox.js';

function desk({ given = [] as number[], turn = Promise.resolve() as Promise<unknown>, refuses = false } = {}) {
  const calls: string[] = [];
  const agent = {
    cancel: async () => {
      calls.push('cancel');
      if (refuses) throw new Error('the process is ending');
    },
    respond: async (id: string) => (calls.push(`respond ${id}`), true),
    setOption: async (key: string) => (calls.push(`set ${key}`), true),
  } as unknown as RunningAgent;
  const owner = { change: async () => undefined } as unknown as OwnedSession;
  const context = { timings: new RunnerTimings({ cancelMs: 50 }) } as RunnerContext;
  const current = {
    given: (pk: number) => given.includes(pk),
    turn: () => turn,
    stuck: () => void calls.push('stuck'),
    answered: () => undefined,
  };
  return { calls, desk: new SessionInbox(context, owner, agent, current, (error) => void calls.push(String(error))) };
}

const mail = (over: Partial<InboxItem>): InboxItem => ({ answers: [], commands: [], interrupting: null, ...over }) as InboxItem;
const answer = { pk: 1, runtimeId: 'q', action: 'yes', text: null };

describe('what a look into the inbox found', () => {
  it('is dealt with once, however often and late it is brought', async () => {
    const { calls, desk: d } = desk();
    const found = mail({ answers: [answer], commands: [{ pk: 1, kind: 'set_option', body: { key: 'k', value: 'v' } }] });
    d.take(found);
    d.take(found);
    await d.idle();
    d.take(found);
    await d.idle();
    expect(calls).toEqual(['respond q', 'set k']);
  });

  it('interrupts for a message that waits, not for one that the process was given already', async () => {
    const waits = desk({ given: [6] });
    waits.desk.take(mail({ interrupting: 7 }));
    await waits.desk.idle();
    expect(waits.calls).toEqual(['cancel']);
    const stale = desk({ given: [7] });
    stale.desk.take(mail({ interrupting: 7 }));
    await stale.desk.idle();
    expect(stale.calls).toEqual([]);
  });

  it('tells when a turn goes on although it was cancelled', async () => {
    const { calls, desk: d } = desk({ turn: new Promise(() => undefined) });
    d.take(mail({ interrupting: 7 }));
    await d.idle();
    expect(calls).toEqual(['cancel', 'stuck']);
  });

  it('takes a turn that ends with its process as one that was cancelled', async () => {
    const ending = desk({ refuses: true, turn: new Promise((resolve) => setTimeout(resolve, 1)) });
    ending.desk.take(mail({ interrupting: 7 }));
    await ending.desk.idle();
    expect(ending.calls).toEqual(['cancel']);
    const goesOn = desk({ refuses: true, turn: new Promise(() => undefined) });
    goesOn.desk.take(mail({ interrupting: 7 }));
    await goesOn.desk.idle();
    expect(goesOn.calls).toEqual(['cancel', 'stuck']);
  });
});
