import { defineEvent, NoPayload } from './define.js';

export const OrderFired = defineEvent('order.fired', 1, NoPayload, 'An order was fired.');
export const OrderCompleted = defineEvent('order.completed', 1, NoPayload, 'A firing of an order has ended well.');
export const OrderFailed = defineEvent(
  'order.failed',
  1,
  NoPayload,
  'A firing of an order has failed, was too long, or was lost with its host.',
);
