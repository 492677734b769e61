import { Injectable } from '@nestjs/common';
import type { Principal } from '../../../contract/principal.js';
import { problem } from '../../../contract/problems.js';
import type { Tx } from '../../../platform/database/transactions.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import { RosterService } from '../../configuration/roster/roster.service.js';
import type { MailFilter } from './mail-filter.js';
import { HUMAN, type MessageRecord, type Recipient, type Sender } from './message-record.js';

const SHOWN_CANDIDATES = 20;

const agent = (name: string): Recipient => ({ principal: `agent:${name}`, shown: name });

/** Turns what people write as addresses into principals, which never change once a message is sent. */
@Injectable()
export class MailAddresses {
  constructor(private readonly roster: RosterService) {}

  /**
   * The mailboxes of `texts`, each once, in their order. `human`, an agent or named session in full, bare within `rig`,
   * or bare and unique in the city.
   *
   * @param placeOf where in the request the text of this number stands
   * @throws ProblemError invalid_request for a text that names nobody, or more than one.
   */
  async recipients(
    tx: Tx,
    city: CityScope,
    texts: readonly string[],
    rig: string,
    placeOf: (number: number) => string,
  ): Promise<Recipient[]> {
    const found = new Map<string, Recipient>();
    for (const [n, { text, name, candidates }] of (await this.roster.addresses(city.streamId, texts, rig, tx)).entries()) {
      const recipient = text === HUMAN.shown ? HUMAN : name === null ? undefined : agent(name);
      if (recipient === undefined) throw candidates.length > 1 ? ambiguous(text, candidates, placeOf(n)) : unknown(text, placeOf(n));
      found.set(recipient.principal, recipient);
    }
    return [...found.values()];
  }

  /** The mailbox of `text` if it names exactly one. */
  async recipientIfKnown(tx: Tx, city: CityScope, text: string, rig: string): Promise<Recipient | undefined> {
    return this.#known(city, text, rig, tx);
  }

  /** Every agent and named session that is there. */
  async everybody(tx: Tx, city: CityScope): Promise<Recipient[]> {
    return (await this.roster.agents(city.streamId, tx)).map(({ name }) => agent(name));
  }

  /**
   * A sender that is nobody's address keeps its text; without any it is the caller. A session has the mailbox of whom it works as, a command and an
   * adapter have none, and everybody else has that of people; a key that has the name of an agent is not that agent.
   */
  async sender(tx: Tx, city: CityScope, text: string | undefined, rig: string, caller: Principal): Promise<Sender> {
    const { actor, session, adapter, command } = caller;
    if (text !== undefined && text !== '') return (await this.#known(city, text, rig, tx)) ?? { principal: undefined, shown: text };
    if (session === undefined && adapter === undefined && command === undefined) return { principal: HUMAN.principal, shown: actor };
    // Under its full name alone: a bare one may be another agent's.
    const own = session && (await this.#known(city, session.agentName, '', tx));
    return own !== undefined && own.shown === session?.agentName ? own : { principal: undefined, shown: actor };
  }

  /** Whose mailbox an answer to this message goes to. */
  answered({ sender_principal: principal, sender: shown }: MessageRecord): Recipient | undefined {
    if (principal === null) return undefined;
    return principal === HUMAN.principal ? HUMAN : { principal, shown };
  }

  /**
   * The mailbox that a read asks for. Mail of an agent that has left is found under its full name.
   *
   * @throws ProblemError invalid_request for a bare name of more than one agent.
   */
  async mailbox(city: CityScope, text: string | undefined, rig = ''): Promise<string | undefined> {
    if (text === undefined) return undefined;
    if (text === HUMAN.shown) return HUMAN.principal;
    const [found] = await this.roster.addresses(city.streamId, [text], rig);
    const { name, candidates } = found!;
    if (name === null && candidates.length > 1) throw ambiguous(text, candidates, 'query.agent');
    return agent(name ?? text).principal;
  }

  /** The sender that a read asks for, found as `mailbox` finds one; a text that names nobody also finds what was signed with it. */
  async author(city: CityScope, text: string | undefined, rig = ''): Promise<MailFilter['from']> {
    if (text === undefined) return undefined;
    const { principal } = (await this.#known(city, text, rig)) ?? agent(text);
    return { principal, text };
  }

  /** The tag that a rig's name stands for: '' for the city itself, undefined for a rig that is not there. */
  async tag(city: CityScope, rig: string | undefined, tx?: Tx): Promise<string | undefined> {
    if (rig === undefined || rig === '' || rig === city.name) return '';
    return (await this.roster.rigs(city.streamId, tx)).some(({ name }) => name === rig) ? rig : undefined;
  }

  async #known(city: CityScope, text: string, rig: string, tx?: Tx): Promise<Recipient | undefined> {
    if (text === HUMAN.shown) return HUMAN;
    const name = await this.roster.address(city.streamId, text, rig, tx);
    return name === undefined ? undefined : agent(name);
  }
}

function unknown(text: string, at: string): Error {
  return problem('invalid_request', `unknown recipient "${text}"`, { at, value: text });
}

function ambiguous(text: string, candidates: readonly string[], at: string): Error {
  const shown = candidates.slice(0, SHOWN_CANDIDATES).join(', ');
  return problem('invalid_request', `"${text}" is ambiguous: ${shown}${candidates.length > SHOWN_CANDIDATES ? ', …' : ''}`, {
    at,
    value: text,
  });
}
