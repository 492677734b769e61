/** Values of one variable, of which any counts: while a sender changes over, it has two. */
export type WebhookSecrets = ReadonlyMap<string, readonly string[]>;

/** A shorter one can be guessed. */
const SHORTEST = 16;

/** What senders of webhooks share with this service; `wrong` says which variables hold none, and never what they hold. */
export function readWebhookSecrets(env: Readonly<Record<string, string | undefined>>): { secrets: WebhookSecrets; wrong: string[] } {
  const secrets = new Map<string, readonly string[]>();
  const wrong: string[] = [];
  for (const [name, value = ''] of Object.entries(env)) {
    if (!name.startsWith('SVC_WEBHOOK_SECRET_')) continue;
    const values = value.split(/\s+/).filter((each) => each !== '');
    if (values.some((each) => each.length < SHORTEST)) wrong.push(`${name}: each secret has to be ${SHORTEST} characters or longer`);
    else if (values.length > 0) secrets.set(name, values);
  }
  return { secrets, wrong };
}
