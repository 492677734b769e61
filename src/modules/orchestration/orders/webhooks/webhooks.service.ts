import { Injectable } from '@nestjs/common';
import { AppConfig } from '../../../../platform/config/config.js';
import type { CityScope } from '../../../tenancy/cities/city-scope.js';
import { ConfigReadsService, type Read } from '../../../configuration/config/config-reads.service.js';
import type { WebhookListBody, WebhookResponse, WebhookRule } from '../orders.schemas.js';
import { DeliveriesRepository } from './deliveries.repository.js';
import { errorOf, hooksOf, type EffectiveHook, type HookRule } from './webhook-definition.js';

/** Rules of which a list tells why they fire nothing: the text on each of a hundred thousand would be long. */
const TOLD = 100;

/** What a city can be sent. */
@Injectable()
export class WebhooksService {
  constructor(
    private readonly app: AppConfig,
    private readonly reads: ConfigReadsService,
    private readonly deliveries: DeliveriesRepository,
  ) {}

  async list(city: CityScope): Promise<Read<WebhookListBody>> {
    const { config, revision, index } = await this.reads.current(city);
    const waiting = await this.deliveries.waitingByHook(city.streamId);
    const hooks = hooksOf(config);
    const wrong = hooks.flatMap(({ rules }) => rules.filter((rule) => errorOf(rule) !== undefined));
    const told = new Set(wrong.slice(0, TOLD));
    const webhooks = hooks.map((hook) => this.#shown(city, hook, waiting.get(hook.scopedName) ?? 0, told));
    const more = wrong.length - told.size;
    return { body: { webhooks, ...(more === 0 ? {} : { errors: [`${more} more rules of webhooks fire nothing`] }) }, revision, index };
  }

  #shown(city: CityScope, hook: EffectiveHook, waiting: number, told: ReadonlySet<HookRule>): WebhookResponse {
    const { scheme, secretEnv } = hook.verification;
    const errors: string[] = [];
    if (secretEnv !== undefined && !this.app.webhookSecrets.has(secretEnv)) errors.push(`the service has no ${secretEnv}`);
    if (hook.visibility === 'public' && !hook.isAllowed) errors.push('webhooks.allow_public of the city does not name it');
    if (this.app.readOnly) errors.push('the service is read-only');
    return {
      name: hook.name,
      scoped_name: hook.scopedName,
      ...(hook.rig === '' ? {} : { rig: hook.rig }),
      path: `/v0/city/${encodeURIComponent(city.name)}/hook/${hook.scopedName}`,
      visibility: hook.visibility,
      scheme,
      ...(secretEnv === undefined ? {} : { secret_env: secretEnv }),
      ready: errors.length === 0,
      max_per_minute: hook.rate.perMinute,
      waiting,
      rules: hook.rules.map((rule) => shownRule(rule, told.has(rule))),
      ...(errors.length === 0 ? {} : { errors }),
    };
  }
}

function shownRule({ named, order, event, match, args, errors }: HookRule, isTold: boolean): WebhookRule {
  return {
    order: named,
    ...(order === undefined ? {} : { scoped_name: order.scopedName }),
    ...(event === undefined ? {} : { event }),
    ...(Object.keys(match).length === 0 ? {} : { match }),
    ...(Object.keys(args).length === 0 ? {} : { args }),
    ...(isTold ? { errors: [...errors()] } : {}),
  };
}
