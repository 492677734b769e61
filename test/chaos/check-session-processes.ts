import type { AgentProcess, Ask, SessionsHistory } from './sessions-history.js';
import { grouped } from './history-parts.js';
import type { Violations } from './violations.js';

/** Until who paused longest is given up, and a little more. */
const GIVEN_UP_MS = 15_000;
const CONFIRMED = new Set<string>(['kill', 'suspend', 'close']);

/** No session has two processes at one moment, none is left that nobody holds, and what was confirmed dead is dead. */
export function checkSessionProcesses(history: SessionsHistory, violations: Violations): void {
  for (const sample of history.samples) {
    for (const [session, processes] of grouped(sample.processes, (one) => one.session)) {
      if (new Set(processes.map(({ group }) => group)).size > 1)
        violations.add('one process', `${session} has ${processes.length} processes at ${sample.at}`, ...processes);
    }
  }
  for (const one of history.leftovers) violations.add('no orphan', `a process of ${one.session} is left that nobody holds`, one);
  const lives = lifetimes(history);
  for (const ask of history.asks) {
    if (!CONFIRMED.has(ask.kind) || ask.outcome !== 'acknowledged' || excused(history, ask)) continue;
    for (const { process, first, last } of lives.get(ask.session ?? '') ?? [])
      if (first < ask.from && last > ask.to)
        violations.add('stopped means stopped', `${ask.kind} of ${ask.session} was confirmed, and its process lived on`, ask, {
          process,
          first,
          last,
        });
  }
}

interface Life {
  readonly process: AgentProcess;
  readonly first: number;
  last: number;
}

function lifetimes(history: SessionsHistory): Map<string, Life[]> {
  const lives = new Map<string, Life>();
  for (const { at, processes } of history.samples) {
    for (const process of processes) {
      const key = `${process.pid}/${process.birth}`;
      const life = lives.get(key);
      if (life === undefined) lives.set(key, { process, first: at, last: at });
      else life.last = at;
    }
  }
  return grouped([...lives.values()], ({ process }) => process.session);
}

/** A runner that cannot run, or is gone, is given up without a look at its processes: they end when it or another one can. */
function excused(history: SessionsHistory, { from, to }: Ask): boolean {
  return history.faults.some(({ name, replica, ...fault }) => {
    const runner = replica?.startsWith('worker') === true && (name === 'pause' || name === 'kill' || name.startsWith('exit SIGKILL'));
    return runner && fault.from < to && fault.to + GIVEN_UP_MS > from;
  });
}
