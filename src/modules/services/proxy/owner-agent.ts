import { Agent } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { Injectable } from '@nestjs/common';
import { hopTo, OwnerGone } from '../hop.js';
import { HopSecret } from '../hop-secret.js';
import { OwnedSockets } from '../owned-sockets.js';

/** Connections to the process of a service, wherever that is: one a request. */
class OwnerAgent extends Agent {
  constructor(private readonly connect: () => Promise<Socket>) {
    super({ keepAlive: false });
  }

  override createConnection(_options: unknown, done?: (error: Error | null, stream: Duplex) => void): undefined {
    this.connect().then(
      (socket) => done?.(null, socket),
      (error: unknown) => done?.(error as Error, undefined as never),
    );
    return undefined;
  }
}

/** Knows how services are reached. */
@Injectable()
export class Owners {
  constructor(
    private readonly owned: OwnedSockets,
    private readonly secret: HopSecret,
  ) {}

  agentFor({ address, instance }: { readonly address: string; readonly instance: string }): Agent {
    return new OwnerAgent(async () => {
      if (!this.owned.has(instance)) return hopTo(address, instance, await this.secret.get());
      const socket = this.owned.connect(instance);
      if (socket === undefined) throw new OwnerGone('its host has let go of it');
      return socket;
    });
  }
}
