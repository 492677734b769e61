import ipaddr from 'ipaddr.js';
import { Injectable } from '@nestjs/common';
import { AppConfig } from '../config/config.js';
import type { Target } from '../config/target.js';
import { isPublic, literalOf } from './addresses.js';
import { NameLookups, nameLookups, type Lookup } from './name-lookups.js';

/** A call out that is not made. The message names the host, which the caller has given, and never an address it has. */
export class OutgoingRefused extends Error {
  override readonly name = 'OutgoingRefused';
  constructor(
    /** `forbidden`: it leads where nobody may call; `unresolved`: its name could not be looked up. */
    readonly reason: 'forbidden' | 'unresolved',
    message: string,
    options?: { cause?: unknown },
  ) {
    super(message, options);
  }
}

const MAX_HOST = 253;

/**
 * Decides before a call out where it may lead. What it answers has to be called, not the name again: a name may lead
 * elsewhere the next moment.
 */
@Injectable()
export class OutgoingGuard {
  readonly #allowed: readonly Target[];
  #lookups = nameLookups;

  constructor(config: AppConfig) {
    this.#allowed = config.allowedTargets;
  }

  /** A guard that asks another resolver. */
  static with(config: AppConfig, resolver: Lookup): OutgoingGuard {
    const guard = new OutgoingGuard(config);
    guard.#lookups = new NameLookups(resolver);
    return guard;
  }

  /** The addresses of a host, every one of which may be called. It is looked up for a city, or for the service itself. @throws OutgoingRefused */
  async resolve(host: string, port: number, city = ''): Promise<[string, ...string[]]> {
    const name = host.toLowerCase().replace(/\.$/, '');
    if (name === '' || name.length > MAX_HOST || /[\s\0/@\\]/.test(name)) throw new OutgoingRefused('forbidden', 'that is no host');
    const literal = literalOf(name);
    const addresses = literal === undefined ? await this.#addressesOf(name, city) : [literal];
    const named = this.#allowed.some((target) => target.host === (literal ?? name) && (target.port ?? port) === port);
    for (const address of addresses) {
      if (!named && !isPublic(address) && !this.#isAllowed(address, port))
        throw new OutgoingRefused('forbidden', `${name} leads to an address that may not be called`);
    }
    return addresses as [string, ...string[]];
  }

  async #addressesOf(name: string, city: string): Promise<string[]> {
    let found: readonly string[];
    try {
      found = await this.#lookups.find(name, city);
    } catch (error) {
      throw new OutgoingRefused('unresolved', `${name} cannot be looked up`, { cause: error });
    }
    const addresses = found.map((address) => literalOf(address.replace(/%.*$/, '')));
    if (addresses.length === 0 || addresses.includes(undefined)) throw new OutgoingRefused('unresolved', `${name} cannot be looked up`);
    return addresses as string[];
  }

  #isAllowed(address: string, port: number): boolean {
    const parsed = ipaddr.parse(address);
    return this.#allowed.some(({ host, port: only, range }) => {
      if (range !== undefined) return parsed.kind() === range[0].kind() && parsed.match(range as [ipaddr.IPv4 & ipaddr.IPv6, number]);
      return host === address && (only ?? port) === port;
    });
  }
}
