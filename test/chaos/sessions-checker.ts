import { checkSessionMessages } from './check-session-messages.js';
import { checkSessionProcesses } from './check-session-processes.js';
import { checkSessionStates } from './check-session-states.js';
import { checkSessionStreams, folded } from './check-session-streams.js';
import { checkSessionTranscripts } from './check-session-transcripts.js';
import { grouped } from './history-parts.js';
import type { SessionsHistory } from './sessions-history.js';
import { Violations, type Violation } from './violations.js';

/** Everything that does not hold in a run with sessions. Pure: the same history always gives the same answer. */
export function checkSessions(history: SessionsHistory): readonly Violation[] {
  const violations = new Violations();
  for (const ask of history.asks) {
    if (ask.status === 500) violations.add('no internal errors', `${ask.kind} was answered with 500`, ask);
    if (ask.problem === false) violations.add('no internal errors', `${ask.kind} was refused without a problem`, ask);
  }
  checkSessionStates(history, violations);
  checkSessionMessages(history, violations);
  checkSessionTranscripts(history, violations);
  checkSessionStreams(history, violations);
  checkSessionProcesses(history, violations);
  return violations.all;
}

/** Followers whose streams do not show yet what the transcripts hold. */
export function behind(history: SessionsHistory): string[] {
  const entries = grouped(history.entries, ({ session }) => session);
  const follows = grouped(history.follows, ({ follower }) => follower);
  return history.followers.flatMap((one) => {
    const rows = entries.get(one.session) ?? [];
    const violations = new Violations();
    folded(one, follows.get(one.name) ?? [], rows, violations);
    return violations.all.some(({ property }) => property === 'stream true') ? [one.name] : [];
  });
}
