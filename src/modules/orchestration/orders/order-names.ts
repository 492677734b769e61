import { problem } from '../../../contract/problems.js';
import type { CityOrders, EffectiveOrder } from './order-definition.js';

/**
 * The order of this scoped name, else the one of this bare name.
 *
 * @throws ProblemError order_not_found, ambiguous_reference
 */
export function orderNamed({ orders }: CityOrders, name: string): EffectiveOrder {
  const scoped = orders.find(({ scopedName }) => scopedName === name);
  if (scoped !== undefined) return scoped;
  const found = orders.filter((order) => order.name === name);
  if (found.length === 0) throw problem('order_not_found', `order not found: ${name.slice(0, 200)}`);
  if (found.length > 1) {
    const names = found.map(({ scopedName }) => scopedName).join(', ');
    throw problem('ambiguous_reference', `ambiguous order name "${name}"; use scoped name: ${names}`);
  }
  return found[0]!;
}
