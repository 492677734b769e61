import { defineEvent, NoPayload } from './define.js';

export const OrderFired = defineEvent('order.fired', 1, NoPayload);
export const OrderCompleted = defineEvent('order.completed', 1, NoPayload);
export const OrderFailed = defineEvent('order.failed', 1, NoPayload);
