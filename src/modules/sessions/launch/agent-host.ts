import type { AddressInfo, Server } from 'node:net';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { existsSync } from 'node:fs';
import { Injectable } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { AppConfig } from '../../../platform/config/config.js';
import { agentEnvironment } from '../../../platform/runtime/environment.js';
import { LOOPBACK_COMMAND, loopbackCommand } from '../../../platform/runtime/loopback-command.js';
import type { Command } from './command.js';

/** What agents get of the host that their runner is on. */
@Injectable()
export class AgentHost {
  /** The program that our own commands are run with: the host's may be of another version. */
  readonly node = process.execPath;
  /** Has the client as `svc`. */
  readonly commandsDirectory = path.join(projectDirectory(), 'bin', 'agents');

  constructor(
    private readonly config: AppConfig,
    private readonly http: HttpAdapterHost,
  ) {}

  /** Variables of the runner's own environment that agents may have: never ours, never a database's. */
  environment(): Readonly<Record<string, string>> {
    return this.config.agentEnvironment;
  }

  /** What a script that runs sessions elsewhere has of variables: it runs outside of every wall, so nothing that a city says. */
  scriptEnvironment(): Readonly<Record<string, string>> {
    const env = agentEnvironment(this.environment());
    return { ...env, PATH: [this.commandsDirectory, env.PATH].filter(Boolean).join(path.delimiter) };
  }

  /** Where agents reach the API; undefined when nobody said, and this process does not serve it itself. */
  apiUrl(): string | undefined {
    const { apiUrl, ownHost, role } = this.config;
    if (apiUrl !== undefined) return apiUrl;
    const port = role === 'worker' ? undefined : this.#port();
    if (port === undefined) return undefined;
    return this.config.urlOf(ownHost, port);
  }

  /** The file with the authority that clients of the API have to trust; undefined when it is one that all know. */
  get caCert(): string | undefined {
    return this.config.caCert;
  }

  /** Files outside of the system's with authorities that programs trust: public ones. */
  authorities(): string[] {
    return this.caCert === undefined ? [] : [this.caCert];
  }

  /** The home directory of agents: the same path inside a sandbox and outside, with another content. */
  get home(): string {
    return this.environment().HOME!;
  }

  /** What of this host programs need that we ship: the client, the shipped agent, Node, and the packs that commands may call. */
  programs(): string[] {
    const parts = ['bin', 'dist', 'scripts', 'node_modules', 'packs', 'package.json', '.swcrc'];
    // What runs now need not be what `npm run build` makes.
    const code = fileURLToPath(new URL('../../../', import.meta.url));
    return [...parts.map((name) => path.join(projectDirectory(), name)), path.resolve(code), this.node];
  }

  /** With 0 the system has chosen one. */
  #port(): number | undefined {
    if (this.config.port !== 0) return this.config.port;
    return ((this.http.httpAdapter.getHttpServer() as Server).address() as AddressInfo | null)?.port;
  }

  /** A program that is shipped with the product, by the name that presets have for it. */
  shipped(command: string): Command | undefined {
    return command === LOOPBACK_COMMAND ? loopbackCommand() : undefined;
  }
}

/** The same from the sources and from the build. */
function projectDirectory(): string {
  const start = path.dirname(fileURLToPath(import.meta.url));
  for (let at = start; at !== path.dirname(at); at = path.dirname(at)) if (existsSync(path.join(at, 'package.json'))) return at;
  throw new Error(`no package.json above ${start}`);
}
