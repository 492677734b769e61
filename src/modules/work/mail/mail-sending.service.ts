import { randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import type { EventDefinition } from '../../../contract/events/define.js';
import { MailReplied, MailSent, type MailEventPayload } from '../../../contract/events/mail.events.js';
import type { Message } from '../../../contract/mail.schemas.js';
import type { Principal } from '../../../contract/principal.js';
import { problem } from '../../../contract/problems.js';
import { event } from '../../../platform/event-log/event.js';
import { Idempotency } from '../../../platform/idempotency/idempotency.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import { idempotencyRef } from '../../tenancy/cities/idempotency-ref.js';
import type { Work } from '../work/work.js';
import { WorkService, type Done } from '../work/work.service.js';
import { MailAddresses } from './mail-addresses.service.js';
import { messageNotFound, rigNotFound } from './mail-problems.js';
import { MailRepository } from './mail.repository.js';
import type { MailBroadcastInputBody, MailBroadcastOutputBody, MailReplyInputBody, MailSendInputBody } from './mail.schemas.js';
import { HUMAN, type MessageRecord, type NewMessage, type Recipient, type Sender } from './message-record.js';
import { replySubject } from './reply-subject.js';

/** All copies of one request together: they are stored, reported as events and answered in one go. */
const COPIES_BYTES = 8 * 1024 * 1024;

/** More than so many are not sent in one transaction: all other writers of the city wait for it. */
const AT_ONCE = 200;

/** What is the same in each message of a broadcast. */
export type Circular = Pick<NewMessage, 'rig' | 'sender' | 'subject' | 'body' | 'priority'>;

/** Sees to it that all of many get theirs; answers what is known of that now. */
export type ManyReaction = (work: Work, message: Circular, recipients: readonly Recipient[]) => Promise<MailBroadcastOutputBody>;

/** Runs in the transaction in which messages were sent, with the names of who sent them. */
export type SentReaction = (work: Work, senders: readonly string[]) => Promise<void>;

/** Sends messages: one a recipient, all of a request in one transaction with their events. */
@Injectable()
export class MailSendingService {
  readonly #sent: SentReaction[] = [];
  #many: ManyReaction | undefined;
  /** A test sets a smaller one. */
  atOnce = AT_ONCE;

  constructor(
    private readonly work: WorkService,
    private readonly addresses: MailAddresses,
    private readonly repository: MailRepository,
    private readonly idempotency: Idempotency,
  ) {}

  onSent(reaction: SentReaction): void {
    this.#sent.push(reaction);
  }

  /** Says what is done about a broadcast to more, or of more text, than is sent in one transaction. */
  onMany(reaction: ManyReaction): void {
    this.#many = reaction;
  }

  /**
   * Starts a thread with a message to `to` and a copy to each of `cc`; answers the message to `to`.
   *
   * @throws ProblemError invalid_request for an address that names nobody or several; rig_not_found.
   */
  send(city: CityScope, body: MailSendInputBody, key: string | undefined, caller: Principal): Promise<Done<Message>> {
    return this.#once(city, 'send-mail', body, key, caller, async (work) => {
      const rig = await this.#tag(work, body.rig);
      const sender = await this.addresses.sender(work.tx, city, body.from, rig, caller);
      const texts = [body.to, ...(body.cc ?? [])];
      const placeOf = (n: number): string => (n === 0 ? 'body.to' : `body.cc.${n - 1}`);
      const recipients = await this.addresses.recipients(work.tx, city, texts, rig, placeOf);
      const cc = recipients.slice(1).map(({ shown }) => shown);
      const { subject, priority } = body;
      const message = { rig, thread: newThread(), sender, subject, body: body.body ?? '', priority, cc };
      const [first] = await this.#deliver(
        work,
        MailSent,
        toEach(recipients, () => message),
      );
      return first!.snapshot;
    });
  }

  /**
   * One message each, in a thread each. Without `to` it goes to every agent and named session except its sender. Where that is much it is only accepted.
   *
   * @throws ProblemError invalid_request when nobody is left to send to, or for an address as `send`; rig_not_found.
   */
  broadcast(
    city: CityScope,
    body: MailBroadcastInputBody,
    key: string | undefined,
    caller: Principal,
  ): Promise<Done<MailBroadcastOutputBody>> {
    return this.#once(city, 'broadcast-mail', body, key, caller, async (work) => {
      const rig = await this.#tag(work, body.rig);
      const sender = await this.addresses.sender(work.tx, city, body.from, rig, caller);
      const recipients =
        body.to === undefined
          ? (await this.addresses.everybody(work.tx, city)).filter(({ principal }) => principal !== sender.principal)
          : await this.addresses.recipients(work.tx, city, body.to, rig, (n) => `body.to.${n}`);
      if (recipients.length === 0) throw problem('invalid_request', 'there is nobody to send this to', { at: 'body.to' });
      const { subject, priority } = body;
      const message = { rig, sender, subject, body: body.body ?? '', priority };
      const isMuch = recipients.length > this.atOnce || bytesOf(recipients, message.body) > COPIES_BYTES;
      if (isMuch && this.#many !== undefined) return this.#many(work, message, recipients);
      const sent = await this.circulate(work, message, recipients);
      return { items: sent.map(({ snapshot }) => snapshot), total: sent.length };
    });
  }

  /** Sends the same to each of them, in a thread each. */
  circulate(work: Work, message: Circular, recipients: readonly Recipient[]): Promise<MessageRecord[]> {
    return this.#deliver(
      work,
      MailSent,
      toEach(recipients, () => ({ ...message, thread: newThread() })),
    );
  }

  /**
   * Answers the sender of a message in its thread.
   *
   * @throws ProblemError mail_not_found for a message that cannot be fetched; wrong_state when its sender is nobody's address.
   */
  reply(
    city: CityScope,
    id: string,
    rig: string | undefined,
    body: MailReplyInputBody,
    key: string | undefined,
    caller: Principal,
  ): Promise<Done<Message>> {
    return this.#once(city, `reply-mail/${encodeURIComponent(id)}`, body, key, caller, async (work) => {
      await this.#tag(work, rig);
      const original = await this.repository.find(work.tx, city, id);
      if (original === undefined || !isFetchable(original)) throw messageNotFound(id);
      const recipient = this.addresses.answered(original);
      if (recipient === undefined)
        throw problem('wrong_state', `message ${id} cannot be answered: its sender "${original.sender}" has no mailbox`);
      const sender = await this.addresses.sender(work.tx, city, body.from, original.rig, caller);
      const [reply] = await this.#deliver(work, MailReplied, [
        {
          rig: original.rig,
          thread: original.thread_id,
          replyTo: id,
          recipient,
          sender,
          subject: replySubject(body.subject, original.subject, body.body),
          body: body.body ?? '',
        },
      ]);
      return reply!.snapshot;
    });
  }

  /**
   * Sends a notice of the service, `from` a name of its own, in a transaction on the city's work; false when `to` names nobody, or several. Nobody has sent it,
   * so it is no message that somebody waits for.
   */
  async notify(work: Work, to: string, notice: { rig: string; subject: string; body: string }, from: string): Promise<boolean> {
    const recipient = await this.addresses.recipientIfKnown(work.tx, work.city, to, notice.rig);
    if (recipient === undefined) return false;
    const sender = { principal: undefined, shown: from };
    await this.#store(work, MailSent, [{ ...notice, thread: newThread(), sender, recipient }]);
    return true;
  }

  /** With a key, only the first time; a repeat gets the first answer whatever has become of its message. */
  #once<T>(
    city: CityScope,
    operation: string,
    body: unknown,
    key: string | undefined,
    caller: Principal,
    create: (work: Work) => Promise<T>,
  ): Promise<Done<T>> {
    return this.work.run(city, caller.actor, async (work) => {
      const ref = idempotencyRef(caller, city.name, operation, key, body);
      const answer = await this.idempotency.run(work.tx, ref, async () => ({ status: 201, body: await create(work) }));
      return answer.body;
    });
  }

  async #tag(work: Work, rig: string | undefined): Promise<string> {
    const tag = await this.addresses.tag(work.city, rig, work.tx);
    if (tag === undefined) throw rigNotFound(rig!);
    return tag;
  }

  /** As `#store`, and whoever waits for a message from its sender hears of it: from `human` only what is signed so, not what any key has sent. */
  async #deliver(work: Work, kind: EventDefinition<typeof MailEventPayload>, messages: readonly NewMessage[]): Promise<MessageRecord[]> {
    const sent = await this.#store(work, kind, messages);
    const senders = new Set(
      sent.flatMap(({ sender, sender_principal: principal }) => [
        sender,
        ...(principal === null || principal === HUMAN.principal ? [] : [principal]),
      ]),
    );
    for (const react of this.#sent) await react(work, [...senders]);
    return sent;
  }

  async #store(work: Work, kind: EventDefinition<typeof MailEventPayload>, messages: readonly NewMessage[]): Promise<MessageRecord[]> {
    if (bytesOf(messages, messages[0]!.body) > COPIES_BYTES)
      throw problem(
        'invalid_request',
        `${messages.length} copies of this body are longer than ${COPIES_BYTES / 1024 / 1024} MiB together`,
        { at: 'body.body' },
      );
    const ids = await work.reserve('', messages.length);
    const sent = await this.repository.insert(work.tx, work.city, ids, messages);
    for (const { id, rig, sender, snapshot } of sent)
      work.emit(
        event(kind, {
          stream: work.city.stream,
          actor: sender,
          subject: id,
          message: snapshot.to,
          payload: { rig: rig || work.city.name, message: snapshot },
        }),
      );
    return sent;
  }
}

type Letter = Omit<NewMessage, 'recipient' | 'sender'> & { readonly sender: Sender };

function toEach(recipients: readonly Recipient[], letter: () => Letter): NewMessage[] {
  return recipients.map((recipient) => ({ ...letter(), recipient }));
}

function bytesOf(copies: readonly unknown[], body: string): number {
  return copies.length * Buffer.byteLength(body);
}

function newThread(): string {
  return `thread-${randomBytes(6).toString('hex')}`;
}

function isFetchable({ archived_as }: MessageRecord): boolean {
  return archived_as === null || archived_as === 'swept';
}
