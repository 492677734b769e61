import 'reflect-metadata';
import { Body, Controller, Get, Module, Param, Post, Query, Res, type Provider } from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyReply } from 'fastify';
import type { AddressInfo } from 'node:net';
import { z } from 'zod';
import type { Principal } from '../../../contract/principal.js';
import { problem } from '../../../contract/problems.js';
import { queryBool, queryInt, queryList, queryText } from '../../../contract/query.js';
import { loadConfig, type Config } from '../../config/config.js';
import { isPreparing } from '../../turns/preparing.js';
import { HealthModule } from '../../health/health.module.js';
import { AppLogger, createLogger } from '../../logging/logger.js';
import { LoggingModule } from '../../logging/logging.module.js';
import { Authenticator } from '../authenticator.js';
import { Caller, IdempotencyKey } from '../caller.decorator.js';
import { sleep } from '../../time/clock.js';
import { createHttpApp, type HttpAppOptions } from '../http-app.js';
import { JsonText } from '../json-text.js';
import { Operation } from '../operation.decorator.js';
import { ERROR_MAPPERS } from '../problem.renderer.js';
import { hijack } from '../request.js';
import { resting } from '../../turns/working.js';

/** For specs: the whole front door over a small controller, without any database. */
const ThingInput = z.strictObject({ name: z.string().min(1), size: z.int().optional(), extra: z.unknown().optional() });
const ThingQuery = z.strictObject({
  limit: queryInt({ min: 0, max: 10, default: 5 }),
  lite: queryBool(),
  items: queryList(),
  text: queryText(),
});

/** Characters of the large answer, about. */
export const LARGE = 20 << 20;

/** Requests that wait until a test lets them go, oldest first. */
class Held {
  #waiting: { readonly name: string; readonly go: () => void }[] = [];

  get names(): string[] {
    return this.#waiting.map(({ name }) => name);
  }

  until(name: string): Promise<unknown> {
    return new Promise((resolve) => this.#waiting.push({ name, go: () => resolve({ name }) }));
  }

  letGo(count = Infinity): void {
    for (const { go } of this.#waiting.splice(0, count)) go();
  }
}
export const HELD = new Held();

@Controller()
class ThingsController {
  @Operation({ id: 'health', summary: 'Health', public: true, knowsKeys: true })
  @Get('health')
  health(@Caller() { actor }: Principal): unknown {
    return { status: 'ok', actor };
  }

  @Operation({ id: 'get-thing', summary: 'Read' })
  @Get('v0/things/:id')
  read(
    @Param('id', { schema: z.string().max(20) }) id: string,
    @Query({ schema: ThingQuery }) query: z.infer<typeof ThingQuery>,
    @Caller() caller: Principal,
  ): unknown {
    return { id, query, caller };
  }

  @Operation({ id: 'get-done', needs: 'audit', summary: 'Who did what' })
  @Get('v0/done')
  done(): unknown {
    return {};
  }

  @Operation({ id: 'get-everywhere', needs: 'all-cities', summary: 'What is of all cities' })
  @Get('v0/everywhere')
  everywhere(): unknown {
    return {};
  }

  @Operation({ id: 'administer-things', needs: 'administer', summary: 'What only who may all may do', status: 201 })
  @Post('v0/administered')
  administer(@Body({ schema: ThingInput }) body: z.infer<typeof ThingInput>): unknown {
    return body;
  }

  @Operation({ id: 'get-planned', plannedOnce: true, summary: 'Whether statements are prepared' })
  @Get('v0/planned')
  planned(): unknown {
    return { prepared: isPreparing() };
  }

  @Operation({ id: 'get-unplanned', summary: 'Whether statements are prepared' })
  @Get('v0/unplanned')
  unplanned(): unknown {
    return this.planned();
  }

  @Operation({ id: 'create-thing', needs: 'operate', summary: 'Create', status: 201 })
  @Post('v0/things')
  create(@Body({ schema: ThingInput }) body: z.infer<typeof ThingInput>, @IdempotencyKey() key: string | undefined): unknown {
    if (body.name === 'bug') throw new Error('the secret reason');
    if (body.name === 'busy') throw Object.assign(new Error('from another room'), { busy: true });
    if (body.name === 'slow') return sleep(400).then(() => ({ name: body.name }));
    if (body.name === 'taken') throw problem('conflict', `taken: ${body.name}`);
    return { name: body.name, key: key ?? null };
  }

  /** Answers once it is let go. */
  @Operation({ id: 'get-held', summary: 'Held' })
  @Get('v0/city/:cityName/held')
  held(@Param('cityName', { schema: z.string() }) city: string): Promise<unknown> {
    return HELD.until(city);
  }

  @Operation({ id: 'rest-held', summary: 'Held, and waiting for something else' })
  @Get('v0/city/:cityName/resting')
  async resting(@Param('cityName', { schema: z.string() }) city: string): Promise<unknown> {
    await resting(() => HELD.until(city));
    return { city };
  }

  @Operation({ id: 'put-held', needs: 'operate', summary: 'Held, with a body' })
  @Post('v0/city/:cityName/held')
  post(
    @Param('cityName', { schema: z.string() }) city: string,
    @Body({ schema: ThingInput }) body: z.infer<typeof ThingInput>,
  ): Promise<unknown> {
    return HELD.until(`${city} ${body.name}`);
  }

  @Operation({ id: 'get-text', summary: 'Prepared text' })
  @Get('v0/text')
  text(): unknown {
    return new JsonText('{"made":"elsewhere"}');
  }

  /** More than a kernel takes for a client that does not read. */
  @Operation({ id: 'get-large', summary: 'Large' })
  @Get('v0/city/:cityName/large')
  large(@Param('cityName', { schema: z.string() }) city: string): unknown {
    return new JsonText(JSON.stringify(city.repeat(LARGE / city.length)));
  }

  @Operation({ id: 'stream', summary: 'Stream', stream: [{ event: 'event', data: z.unknown() }] })
  @Get('v0/stream')
  stream(@Res() reply: FastifyReply): void {
    reply.raw.writeHead(200, { ...hijack(reply), 'content-type': 'text/event-stream' });
    reply.raw.end('data: {}\n\n');
  }

  @Operation({ id: 'endless', summary: 'Stream without end', stream: [{ event: 'event', data: z.unknown() }] })
  @Get('v0/endless')
  endless(@Res() reply: FastifyReply): void {
    reply.raw.writeHead(200, { ...hijack(reply), 'content-type': 'text/event-stream' });
    reply.raw.write('data: {}\n\n');
  }
}

export const KEYS: Readonly<Record<string, Principal>> = {
  svc_write: { actor: 'writer', keyId: 'w', scope: 'write', cities: undefined },
  svc_operate: { actor: 'operator', keyId: 'o', scope: 'read', rights: ['operate'], cities: undefined },
  svc_configure: { actor: 'builder', keyId: 'c', scope: 'read', rights: ['configure', 'commands'], cities: undefined },
  svc_read: { actor: 'reader', keyId: 'r', scope: 'read', cities: ['one'] },
  svc_one: { actor: 'first', keyId: '1', scope: 'write', cities: ['one'] },
  svc_also: { actor: 'also', keyId: '2', scope: 'write', cities: ['one'] },
  svc_two: { actor: 'second', keyId: '3', scope: 'write', cities: ['two'] },
};

class StubAuthenticator extends Authenticator {
  override authenticate(token: string): Principal | undefined | Promise<Principal | undefined> {
    if (token === 'svc_down') return Promise.reject(Object.assign(new Error('no database'), { busy: true }));
    if (token === 'svc_broken') throw new Error('no key is understood');
    if (token === 'svc_late') return HELD.until('key').then(() => KEYS['svc_write']);
    return token === 'svc_read' ? Promise.resolve(KEYS[token]) : KEYS[token];
  }
  override stillValid(): boolean {
    return true;
  }
}

const busy = (error: unknown): unknown => (error instanceof Error && 'busy' in error ? problem('unavailable', 'try again') : error);

@Module({
  controllers: [ThingsController],
  providers: [
    { provide: Authenticator, useClass: StubAuthenticator },
    { provide: ERROR_MAPPERS, useValue: [busy] },
  ],
})
class ThingsModule {}

export interface Door {
  readonly url: string;
  readonly port: number;
  readonly app: NestFastifyApplication;
  close(): Promise<void>;
}

/** Listens on a free loopback port whatever `config.host` says: read-only mode is about the configured host. */
export async function openDoor(
  overrides: Partial<Config> = {},
  {
    logger = new AppLogger(createLogger('silent')),
    providers = [],
    ...options
  }: HttpAppOptions & { readonly logger?: AppLogger; readonly providers?: Provider[] } = {},
): Promise<Door> {
  const config = loadConfig({ SVC_DATABASE_URL: 'postgres://nobody@localhost/none' }, '/tmp').with(overrides);
  const root = { module: ThingsModule, imports: [LoggingModule.forRoot(logger), HealthModule], providers };
  const app = await createHttpApp(root, config, logger, options);
  await app.listen(0, '127.0.0.1');
  const { port } = app.getHttpServer().address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, port, app, close: () => app.close() };
}
