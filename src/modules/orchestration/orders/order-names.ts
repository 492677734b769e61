import { problem } from '../../../contract/problems.js';
import { listed, shortened } from './listed.js';
import type { CityOrders, EffectiveOrder } from './order-definition.js';

/**
 * The order of this scoped name, else the one of this bare name.
 *
 * @throws ProblemError order_not_found, ambiguous_reference
 */
export function orderNamed({ orders, byScopedName }: CityOrders, name: string): EffectiveOrder {
  const scoped = byScopedName.get(name);
  if (scoped !== undefined) return scoped;
  const found = orders.filter((order) => order.name === name);
  if (found.length === 0) throw problem('order_not_found', `order not found: ${name.slice(0, 200)}`);
  if (found.length > 1) {
    const names = listed(found.map(({ scopedName }) => scopedName));
    throw problem('ambiguous_reference', `ambiguous order name "${shortened(name)}"; use scoped name: ${names}`);
  }
  return found[0]!;
}
