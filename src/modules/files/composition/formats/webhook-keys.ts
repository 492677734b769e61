import { isIP } from 'node:net';
import { z } from 'zod';
import { filled, forbidden, key, listOf, map, name, oneOf, rule, table, text, texts, time } from './values.js';

/** Variables of the service that hold secrets of webhooks: no file of a city can name another one. */
const secret = z
  .string()
  .regex(/^SVC_WEBHOOK_SECRET_[A-Z0-9_]{1,64}$/, 'must be SVC_WEBHOOK_SECRET_ and a name of capitals, figures or underscores');
const header = z.string().regex(/^[A-Za-z0-9-]{1,64}$/, 'must be the name of a header');
const network = z.string().refine(isNetwork, 'must be an address or a network such as 192.0.2.0/24');
const perMinute = z.int().min(1).max(6_000);
const noTokens = forbidden('is not supported: senders sign what they send, or show a token that they were given');

type Members = Readonly<Record<string, unknown>>;
const signs = ({ scheme }: Members): boolean => scheme === 'hmac-sha256' || scheme === 'github';

const VERIFY_RULES: readonly (readonly [at: string, message: string, holds: (it: Members) => boolean])[] = [
  ['secret_env', 'is required with schemes that sign', (it) => !signs(it) || it.secret_env !== undefined],
  ['bearer_env', 'is required with scheme bearer', (it) => it.scheme !== 'bearer' || it.bearer_env !== undefined],
  ['bearer_env', 'is for scheme bearer only', (it) => !signs(it) || it.bearer_env === undefined],
  ['secret_env', 'is for schemes that sign only', (it) => it.scheme !== 'bearer' || it.secret_env === undefined],
  ['signature_header', 'is required with scheme hmac-sha256', (it) => it.scheme !== 'hmac-sha256' || it.signature_header !== undefined],
  [
    'timestamp_header',
    'is for scheme hmac-sha256 only',
    (it) => !['github', 'bearer'].includes(it.scheme as string) || it.timestamp_header === undefined,
  ],
  ['replay_window', 'needs timestamp_header', (it) => it.replay_window === undefined || it.timestamp_header !== undefined],
];

const verify = VERIFY_RULES.reduce(
  (schema, [at, message, holds]) => rule(schema, at, message, holds),
  table(
    {
      secret_env: key(
        secret,
        'Variable of the service with what the sender signs with; several secrets, with blanks between them, all count.',
      ),
      secret_key: forbidden('is not supported: secrets are variables of the service, named by secret_env'),
      signature_header: key(header, 'Header with the signature, or with the token. `github` and `bearer` have their own.'),
      event_header: key(header, 'Header that says which event it is.'),
      dedup_header: key(header, 'Header with the id of the delivery, which counts once.'),
      timestamp_header: key(header, 'Header with the time; what is signed is then `<time>.<body>`.'),
      replay_window: key(time, 'How old such a delivery may be.', '5m'),
      issuer: noTokens,
      jwks_url: noTokens,
      audience: noTokens,
      bearer_env: key(secret, 'Variable of the service with the token that the sender shows.'),
      allowed_cidrs: key(listOf(network).min(1), 'Networks that the sender may be in.'),
    },
    { scheme: key(oneOf('hmac-sha256', 'github', 'bearer'), 'How the sender is known.') },
  ),
);

/** Becomes the name of a variable of a command, or of a formula. */
const argument = z
  .string()
  .max(64)
  .regex(/^[A-Za-z_]\w*$/, 'must be a name such as ref: letters, figures and _');

/** `{{a.b.0}}` stands for what the body has there; three names are of the delivery itself. */
const template = z
  .string()
  .max(1024)
  .refine(
    (written) => [...written.matchAll(/\{\{(.*?)(?:\}\}|$)/gs)].every(([whole, path]) => whole.endsWith('}}') && isPath(path!.trim())),
    'has a placeholder that is none: {{member.of.the.body}}, {{@event}}, {{@delivery}} or {{@identity}}',
  );

const received = table(
  {
    event: key(filled, 'The event that it is for.'),
    match: key(map, 'Members of the body and what they have to be, with `*` for anything.'),
    target: key(oneOf('order'), 'What is fired.', 'order'),
    rig: key(text, 'The rig of the order.'),
    args: key(
      z.record(argument, template),
      'Values for the order: texts with `{{member.of.the.body}}`, `{{@event}}`, `{{@delivery}}` or `{{@identity}}`.',
    ),
  },
  { order: key(filled, 'The order, whose trigger is `webhook`.') },
);

/** Two paths beside those of webhooks are of the API. */
const hookName = name.refine((written) => !['claim', 'demand'].includes(written), 'is the name of an operation below /hook/');

const publication = table({
  visibility: key(
    oneOf('private', 'public'),
    '`private`: senders need a key where keys are asked for. `public`: the city has to name it in `webhooks.allow_public`.',
    'private',
  ),
  hostname: forbidden('is not supported: webhooks are reached where the API is'),
  allow_websockets: forbidden('is for services only'),
});

const WEBHOOK_RULES: readonly (readonly [at: string, message: string, holds: (it: Members) => boolean])[] = [
  [
    'verify',
    'is required of a public webhook: anybody can send to it',
    (it) => (it.publication as Members | undefined)?.visibility !== 'public' || it.verify !== undefined,
  ],
  [
    'rule',
    'cannot ask for an event: verify names no event_header that says which it is',
    (it) =>
      saysEvents(it.verify as Members | undefined) ||
      !Array.isArray(it.rule) ||
      !it.rule.some((each: Members) => each?.event !== undefined),
  ],
];

/** What is sent to a city from outside, and which orders it fires. */
export const webhook = WEBHOOK_RULES.reduce(
  (schema, [at, message, holds]) => rule(schema, at, message, holds),
  table(
    {
      scope: forbidden('is not supported: rig says whose it is'),
      rig: key(text, 'The rig that it is of.'),
      publication: key(publication, 'Who may send.'),
      max_per_minute: key(perMinute, 'So many deliveries a minute.', 60),
      verify: key(verify, 'How senders are known.'),
    },
    {
      name: key(hookName, 'What it is called: it is reached at `/v0/city/CITY/hook/NAME`.'),
      rule: key(listOf(received).min(1).max(100), 'What fires which order; the first that fits counts.'),
    },
  ),
);

export const webhookPolicy = table({
  allow_public: key(texts, 'Webhooks that may be public.'),
  jwt_policy: noTokens,
  rate_limit: key(
    table({
      per_minute: key(perMinute, 'Deliveries a minute of each webhook that says nothing itself.', 60),
      burst: key(perMinute, 'So many at once. Without it as many as a minute.'),
      override: key(
        listOf(
          table(
            { per_minute: key(perMinute, 'Deliveries a minute of this one.'), burst: key(perMinute, 'So many at once.') },
            { name: key(filled, 'The webhook.') },
          ),
        ),
        'The last word on single webhooks.',
      ),
    }),
    'How much may be sent.',
  ),
});

function saysEvents(verified: Members | undefined): boolean {
  return verified !== undefined && (verified.scheme === 'github' || verified.event_header !== undefined);
}

function isPath(written: string): boolean {
  return /^@(?:event|delivery|identity)$/.test(written) || /^[^@{}\s][^{}\s]{0,299}$/.test(written);
}

function isNetwork(written: string): boolean {
  const [, address = '', bits] = /^([0-9a-fA-F:.]+)(?:\/(\d{1,3}))?$/.exec(written) ?? [];
  const kind = isIP(address);
  return kind !== 0 && (bits === undefined || Number(bits) <= (kind === 4 ? 32 : 128));
}
