import { checkOrderCauses } from './check-order-causes.js';
import { checkOrderFirings } from './check-order-firings.js';
import { checkOrderWork } from './check-order-work.js';
import type { OrdersHistory } from './orders-history.js';
import { Violations, type Violation } from './violations.js';

/** Everything that does not hold in a run with orders. Pure: the same history always gives the same answer. */
export function checkOrders(history: OrdersHistory): readonly Violation[] {
  const violations = new Violations();
  for (const ask of history.asks) {
    if (ask.status === 500) violations.add('no internal errors', `${ask.kind} was answered with 500`, ask);
    if (ask.problem === false) violations.add('no internal errors', `${ask.kind} was refused without a problem`, ask);
  }
  checkOrderFirings(history, violations);
  checkOrderCauses(history, violations);
  checkOrderWork(history, violations);
  return violations.all;
}
