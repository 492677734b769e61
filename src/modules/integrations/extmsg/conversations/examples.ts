/** What examples of requests are about. */
export const CONVERSATION = { scope_id: 'alpha', provider: 'slack', account_id: 'default', conversation_id: 'C1', kind: 'room' } as const;
