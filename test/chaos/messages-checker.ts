import { checkMessageBindings } from './check-message-bindings.js';
import { checkMessageEntries } from './check-message-entries.js';
import { checkMessageMembers } from './check-message-members.js';
import { checkMessageOffers } from './check-message-offers.js';
import { checkMessagePublications } from './check-message-publications.js';
import type { MessagesHistory } from './messages-history.js';
import { Violations, type Violation } from './violations.js';

/** Everything that does not hold in a run with messages from outside. Pure: the same history always gives the same answer. */
export function checkMessages(history: MessagesHistory): readonly Violation[] {
  const violations = new Violations();
  for (const ask of history.asks) {
    if (ask.status === 500) violations.add('no internal errors', `${ask.kind} was answered with 500`, ask);
    if (ask.problem === false) violations.add('no internal errors', `${ask.kind} was refused without a problem`, ask);
  }
  checkMessageEntries(history, violations);
  checkMessageMembers(history, violations);
  checkMessagePublications(history, violations);
  checkMessageOffers(history, violations);
  checkMessageBindings(history, violations);
  return violations.all;
}
