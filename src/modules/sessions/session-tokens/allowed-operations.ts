import { heldFrom, type SessionCaller } from '../../../contract/principal.js';
import type { Asked } from '../../../platform/http/authenticator.js';

/** What is asked of the database. */
export interface Ownership {
  holder(who: SessionCaller, bead: string): Promise<string | undefined>;
  hasBegun(who: SessionCaller, bead: string, alias: string): Promise<boolean>;
  waiter(who: SessionCaller, wait: string): Promise<string | undefined>;
  mailbox(who: SessionCaller, message: string): Promise<string | undefined>;
}

/** Why a session may not; undefined when it may. Shapes are checked by others, later. */
export type Check = (who: SessionCaller, asked: Asked, owns: Ownership) => string | undefined | Promise<string | undefined>;

/** Every one of them in turn. */
function all(...checks: readonly Check[]): Check {
  return async (who, asked, owns) => {
    for (const check of checks) {
      const why = await check(who, asked, owns);
      if (why !== undefined) return why;
    }
    return undefined;
  };
}

/** A member of the body that has to name the caller. */
const itself =
  (member: string): Check =>
  (who, { body }) => {
    const given = memberOf(body, member);
    return typeof given === 'string' && who.names.includes(given)
      ? undefined
      : `${member} has to be ${who.agentName}: sessions act as themselves`;
  };

/** The claimant of its own claim, also by an alias that it had before: the fence says that it is that claim still. */
const itsClaim: Check = async (who, asked, owns) => {
  const why = await itself('assignee')(who, asked, owns);
  const [id, alias, fence] = [asked.params.id, memberOf(asked.body, 'assignee'), memberOf(asked.body, 'fence')];
  if (why === undefined || typeof id !== 'string' || typeof alias !== 'string' || typeof fence !== 'number') return why;
  return (await owns.hasBegun(who, id, alias)) ? undefined : why;
};

/** One that may be absent or empty, and else names the caller. */
const ifAnybody =
  (member: string): Check =>
  (who, asked, owns) => {
    const given = memberOf(asked.body, member);
    return given === undefined || given === null || given === '' ? undefined : itself(member)(who, asked, owns);
  };

/** A list of names that all mean the caller. */
const onlyItself =
  (member: string): Check =>
  (who, { body }) => {
    const given = memberOf(body, member);
    if (given === undefined) return undefined;
    const own = Array.isArray(given) && given.every((name) => typeof name === 'string' && who.names.includes(name));
    return own ? undefined : `${member} may have names of this session only`;
  };

/** Members that only people set. */
const without =
  (...members: readonly string[]): Check =>
  (_who, { body }) => {
    const given = members.find((member) => memberOf(body, member) !== undefined && memberOf(body, member) !== false);
    return given === undefined ? undefined : `sessions may not set ${given}`;
  };

const only =
  (...members: readonly string[]): Check =>
  (_who, { body }) => {
    const given = Object.keys(typeof body === 'object' && body !== null ? body : {}).find((member) => !members.includes(member));
    return given === undefined ? undefined : `sessions may not set ${given}`;
  };

const anything: Check = () => undefined;

/** The path names the caller's own session, by its id: other names may mean another session, now or later. */
const ownSession: Check = (who, { params }) => {
  return params.id === who.id ? undefined : `a session may do this to itself only, as session/${who.id}`;
};

/** Whoever ends the turn of another one stops it, and could go on with that for ever. Its own it names as `ownSession` says. */
const noInterruption: Check = (who, { params, body }) =>
  memberOf(body, 'intent') === 'interrupt_now' && params.id !== who.id
    ? `sessions end no turns of others, and their own as session/${who.id}: interrupt_now is refused, default and follow_up wait for the end`
    : undefined;

/** A bead that nobody else has under way. Who takes it up meanwhile is noticed when it is changed. */
const notHeld: Check = async (who, { params: { id } }, owns) =>
  typeof id === 'string' ? heldFrom(who, id, await owns.holder(who, id)) : undefined;

const ownWait: Check = async (who, { params }, owns) => {
  const waiter = typeof params.id === 'string' ? await owns.waiter(who, params.id) : undefined;
  return waiter === undefined || who.names.includes(waiter) ? undefined : `wait ${String(params.id)} belongs to ${waiter}`;
};

const ownMail: Check = async (who, { params }, owns) => {
  const mailbox = typeof params.id === 'string' ? await owns.mailbox(who, params.id) : undefined;
  if (mailbox === undefined || who.names.some((name) => mailbox === `agent:${name}`)) return undefined;
  return `message ${String(params.id)} lies in the mailbox of ${mailbox.replace(/^agent:/, '')}`;
};

const bead = 'v0-city-by-city-name-bead-by-id';
const convoy = 'v0-city-by-city-name-convoy-by-id';
const mail = 'v0-city-by-city-name-mail-by-id';
const session = 'v0-city-by-city-name-session-by-id';

/**
 * All that a session may change, by operation. What is not here is refused: a new operation is nobody's until it is put here.
 * Reading needs no line: a session may read its own city.
 */
export const ALLOWED: Readonly<Record<string, Check>> = {
  // Its own work.
  'claim-from-hook': all(itself('agent'), onlyItself('aliases'), ifAnybody('session'), ifAnybody('session_name')),
  'claim-bead': all(itself('assignee'), ifAnybody('session_id'), ifAnybody('session_name'), without('force')),
  'extend-bead-claim': itsClaim,
  'release-bead': itsClaim,
  // The city's work, as far as nobody else has it in hand.
  'create-bead': ifAnybody('assignee'),
  [`patch-${bead}`]: all(notHeld, ifAnybody('assignee')),
  [`post-${bead}-update`]: all(notHeld, ifAnybody('assignee')),
  [`post-${bead}-assign`]: all(notHeld, ifAnybody('assignee')),
  [`post-${bead}-close`]: notHeld,
  [`post-${bead}-reopen`]: anything,
  // What somebody has under way is not held back, and waits of others stay as they are: that is seen to once nobody else writes.
  'add-bead-labels': anything,
  'replace-bead-labels': anything,
  'remove-bead-label': anything,
  'add-bead-dependency': anything,
  'remove-bead-dependency': anything,
  // Handing work to others, which is how work is cut: never out of somebody's hands.
  'post-v0-city-by-city-name-sling': without('force', 'reassign'),
  'sling-batch': without('force', 'reassign'),
  'create-convoy': ifAnybody('owner'),
  [`post-${convoy}-add`]: anything,
  [`post-${convoy}-remove`]: anything,
  [`post-${convoy}-close`]: anything,
  'land-convoy': anything,
  // Mail, in its own name.
  'send-mail': ifAnybody('from'),
  'reply-mail': all(ownMail, ifAnybody('from')),
  [`post-${mail}-read`]: ownMail,
  [`post-${mail}-mark-unread`]: ownMail,
  [`post-${mail}-archive`]: ownMail,
  [`delete-${mail}`]: ownMail,
  // Waiting.
  'create-wait': itself('session'),
  'cancel-wait': ownWait,
  // Its own conversation; what it says to others is said in its name.
  [`patch-${session}`]: all(ownSession, only('title')),
  [`post-${session}-rename`]: ownSession,
  'reset-session': ownSession,
  'drain-session': ownSession,
  'send-session-message': anything,
  // To people outside, in its own name.
  'post-v0-city-by-city-name-extmsg-outbound': itself('session_id'),
  'post-v0-city-by-city-name-extmsg-transcript-ack': itself('session_id'),
  'submit-session': noInterruption,
};

const extmsg = 'v0-city-by-city-name-extmsg';

/** All that an adapter may use, to read as well. The family sees to it that it speaks for its own account only. */
export const ADAPTERS_MAY: ReadonlySet<string> = new Set([
  `post-${extmsg}-inbound`,
  `post-${extmsg}-bind`,
  `post-${extmsg}-unbind`,
  `get-${extmsg}-groups`,
  'ensure-extmsg-group',
  `post-${extmsg}-participants`,
  `delete-${extmsg}-participants`,
  `get-${extmsg}-transcript`,
  `get-${extmsg}-adapters`,
  'register-extmsg-adapter',
  `delete-${extmsg}-adapters`,
  'stream-extmsg-publications',
  'acknowledge-extmsg-publication',
]);

function memberOf(body: unknown, member: string): unknown {
  if (typeof body !== 'object' || body === null || !Object.hasOwn(body, member)) return undefined;
  return (body as Record<string, unknown>)[member];
}
