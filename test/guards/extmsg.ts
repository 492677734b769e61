import type { Guard } from './guard.js';

const BINDINGS = 'test/e2e/extmsg.e2e-spec.ts';
const INBOUND = 'test/e2e/extmsg-inbound.e2e-spec.ts';
const OUTBOUND = 'test/e2e/extmsg-outbound.e2e-spec.ts';

/** Conversations elsewhere, and the adapters that speak for them. */
export const EXTMSG: readonly Guard[] = [
  {
    guard: 'Who changes a conversation has its row locked.',
    file: 'src/modules/extmsg/conversations/conversations.repository.ts',
    find: 'c.key = ${keyOf(conversation)} for no key update',
    replace: 'c.key = ${keyOf(conversation)}',
    test: INBOUND,
    name: 'of fifty at once',
  },
  {
    guard: 'What has come before is not taken again.',
    file: 'src/modules/extmsg/inbound/inbound.service.ts',
    find: 'if (known !== undefined) return',
    replace: "if (known !== undefined && onceKey === '') return",
    test: INBOUND,
    name: 'of fifty at once',
  },
  {
    guard: 'Nothing that came from outside ends its block.',
    file: 'src/modules/extmsg/deliveries/notice.ts',
    find: "'<': '&lt;'",
    replace: "'<': '<'",
    test: INBOUND,
    name: 'is told as a block',
  },
  {
    guard: 'What a session has of conversations ends with it.',
    file: 'src/modules/extmsg/repair/session-endings.ts',
    find: "if (how === 'closed') await",
    replace: "if (how === 'closed' && row.pk < 0) await",
    test: INBOUND,
    name: 'its bindings, handles and memberships end with it',
  },
  {
    guard: 'Another session of a configured name has what the one before had.',
    file: 'src/modules/sessions/named-sessions.service.ts',
    find: 'if (bearer !== undefined) await changes.replace(bearer, created);',
    replace: '',
    test: BINDINGS,
    name: 'keeps its conversations',
  },
  {
    guard: 'Another does not take a conversation that somebody has.',
    file: 'src/modules/extmsg/bindings/bindings.service.ts',
    find: 'if (active !== undefined && !replace) {',
    replace: "if (active?.id === '' && !replace) {",
    test: BINDINGS,
    name: 'of two at once',
  },
  {
    guard: 'What is published is fenced by the binding.',
    file: 'src/modules/extmsg/outbound/publisher.ts',
    find: 'if (!(await this.repository.isCurrent(tx, row.pk))) return',
    replace: 'if (row.pk < 0) return',
    test: OUTBOUND,
    name: 'keeps what is not published yet from being published',
  },
  {
    guard: 'One publication under one key.',
    file: 'src/modules/extmsg/outbound/outbound.service.ts',
    find: 'if (before !== undefined) {',
    replace: "if (before !== undefined && key === '') {",
    test: OUTBOUND,
    name: 'is published once under one key',
  },
  {
    guard: 'Members stop setting each other going.',
    file: 'src/modules/extmsg/outbound/outbound.service.ts',
    find: 'told && published >= group.max_peer_publishes',
    replace: 'told && published < 0',
    test: OUTBOUND,
    name: 'ends what its members set going',
  },
  {
    guard: 'Each call of an adapter looks at its address.',
    file: 'src/modules/extmsg/outbound/callback.ts',
    find: 'const [to] = await this.guard.resolve(hostOf(url), portOf(url));',
    replace: 'const to = hostOf(url);',
    test: OUTBOUND,
    name: 'is called at public addresses',
  },
  {
    guard: 'No more than so much of an answer is read.',
    file: 'src/modules/extmsg/outbound/callback.ts',
    find: 'if (bytes > ANSWER_BYTES) {',
    replace: 'if (bytes < 0) {',
    test: OUTBOUND,
    name: 'that hangs, drips',
  },
  {
    guard: 'An adapter speaks for its own account.',
    file: 'src/modules/extmsg/conversations/conversation.ts',
    find: 'adapter.provider === provider && adapter.accountId === account_id',
    replace: 'adapter.provider === provider',
    test: OUTBOUND,
    name: 'speaks for its own account',
  },
  {
    guard: 'An adapter reaches its own operations only.',
    file: 'src/modules/session-tokens/table-policy.ts',
    find: 'return ADAPTERS_MAY.has(operation);',
    replace: "return operation !== '' || ADAPTERS_MAY.has(operation);",
    test: OUTBOUND,
    name: 'speaks for its own account',
  },
];
