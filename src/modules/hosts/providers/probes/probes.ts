import type { ProbeResult } from '../providers.catalogue.js';
import type { CommandResult, ProbeHost } from './host.js';

/** Looks at one provider or tool on this host. May throw: then the result is `probe_error`. */
export type Probe = (host: ProbeHost) => Promise<ProbeResult>;

const CONFIGURED: ProbeResult = { status: 'configured' };
const needsAuth = (detail: string): ProbeResult => ({ status: 'needs_auth', detail });
const invalid = (detail: string): ProbeResult => ({ status: 'invalid_configuration', detail });
const broken = (detail: string): ProbeResult => ({ status: 'probe_error', detail });
const missing = (program: string): ProbeResult => ({ status: 'not_installed', detail: `${program} was not found on this host` });

/**
 * Every item of the catalogue has its probe here. Where a tool can be used without an account, or takes its key from places
 * that a host cannot show (a city's own environment, a key ring), to be installed is all that can be asked for.
 */
export const PROBES: Readonly<Record<string, Probe>> = {
  loopback: () => Promise.resolve(CONFIGURED),
  claude: installed('claude', claude),
  codex: installed('codex', codex),
  gemini: installed('gemini', gemini),
  grok: installed('grok'),
  kimi: installed('kimi'),
  kiro: installed('kiro-cli', kiro),
  cursor: installed('cursor-agent', cursor),
  copilot: installed('copilot'),
  amp: installed('amp', amp),
  opencode: installed('opencode'),
  groq: installed('opencode'),
  cerebras: installed('opencode'),
  auggie: installed('auggie', byFile('auggie login', '.augment/session.json')),
  antigravity: installed('agy', byFile('agy', '.gemini/antigravity-cli/antigravity-oauth-token')),
  mimocode: installed('mimo', byFile('mimo', '.local/share/mimocode/auth.json')),
  pi: installed('pi', async (host) => ((await host.read('.pi/agent/auth.json')) === undefined ? needsAuth('sign in with pi') : CONFIGURED)),
  omp: installed('omp'),
  github_cli: installed('gh', githubCli),
};

type InstalledProbe = (host: ProbeHost, program: string) => Promise<ProbeResult>;

function installed(program: string, probe: InstalledProbe = () => Promise.resolve(CONFIGURED)): Probe {
  return async (host) => {
    const found = await host.find(program);
    if (found === undefined) return missing(program);
    const [result, version] = [await probe(host, found), await host.version(found)];
    return version === undefined ? result : { ...result, version };
  };
}

/** Configured by a file that is not empty. */
function byFile(signIn: string, file: string): InstalledProbe {
  return async (host) => (filled(await host.read(file)) ? CONFIGURED : needsAuth(`sign in with ${signIn}`));
}

async function claude(host: ProbeHost, program: string): Promise<ProbeResult> {
  const status = table(json((await host.run(program, ['auth', 'status', '--json'])).stdout));
  if (status === undefined) return broken('claude auth status gave no JSON');
  if (status.loggedIn !== true) return needsAuth('sign in with claude auth login');
  const method = text(status.authMethod);
  const provider = text(status.apiProvider);
  if ((method === 'claude.ai' || method === 'oauth_token') && provider === 'firstParty') return CONFIGURED;
  return invalid(`signed in by ${method || 'an unknown method'} at ${provider || 'an unknown provider'}; sign in with an account`);
}

async function codex(host: ProbeHost): Promise<ProbeResult> {
  const file = await host.read('.codex/auth.json');
  if (file === undefined) return needsAuth('sign in with codex login');
  const auth = table(json(file));
  if (auth === undefined) return broken('the codex auth file is not valid JSON');
  const mode = text(auth.auth_mode);
  if (mode === '' || mode === 'none') return needsAuth('sign in with codex login');
  if (mode !== 'chatgpt') return invalid(`auth mode ${mode} is not supported; sign in with an account`);
  const tokens = table(auth.tokens) ?? {};
  const any = ['access_token', 'id_token', 'refresh_token'].some((name) => text(tokens[name]) !== '');
  return any ? CONFIGURED : needsAuth('sign in with codex login');
}

async function gemini(host: ProbeHost): Promise<ProbeResult> {
  const file = await host.read('.gemini/settings.json');
  if (file === undefined) return needsAuth('sign in with gemini');
  const settings = table(json(file));
  if (settings === undefined) return broken('the gemini settings are not valid JSON');
  const type = text(table(table(settings.security)?.auth)?.selectedType);
  if (type === '') return needsAuth('sign in with gemini');
  if (type !== 'oauth-personal') return invalid(`auth type ${type} is not supported; sign in with an account`);
  const credentials = await host.read('.gemini/oauth_creds.json');
  if (credentials === undefined) return needsAuth('sign in with gemini');
  const found = table(json(credentials));
  if (found === undefined) return broken('the gemini credentials are not valid JSON');
  return text(found.refresh_token) === '' ? needsAuth('sign in with gemini') : CONFIGURED;
}

async function amp(host: ProbeHost): Promise<ProbeResult> {
  const file = await host.read('.local/share/amp/secrets.json');
  if (!filled(file)) return needsAuth('sign in with amp login');
  const secrets = table(json(file!));
  if (secrets === undefined) return broken('the amp secrets are not valid JSON');
  return Object.values(secrets).some((secret) => text(secret) !== '') ? CONFIGURED : needsAuth('sign in with amp login');
}

async function kiro(host: ProbeHost, program: string): Promise<ProbeResult> {
  return fromStatus('kiro-cli whoami', 'kiro-cli login', await host.run(program, ['whoami']));
}

/** Its status exits with 0 either way; a version that words it otherwise is believed to be signed in. */
async function cursor(host: ProbeHost, program: string): Promise<ProbeResult> {
  const { code, stdout, stderr } = await host.run(program, ['status']);
  if (code === undefined) return broken('cursor-agent status did not end');
  return /not (logged in|authenticated)/i.test(`${stdout}${stderr}`) ? needsAuth('sign in with cursor-agent login') : CONFIGURED;
}

async function githubCli(host: ProbeHost, program: string): Promise<ProbeResult> {
  const hosts = await host.read('.config/gh/hosts.yml');
  // A file of two levels in which only one key matters: a whole YAML parser would be for nothing.
  if (hosts !== undefined && /^\s+oauth_token:\s*["']?\S/m.test(hosts)) return CONFIGURED;
  return fromStatus('gh auth status', 'gh auth login', await host.run(program, ['auth', 'status']));
}

function fromStatus(command: string, signIn: string, { code, stdout, stderr }: CommandResult): ProbeResult {
  if (code === 0) return CONFIGURED;
  if (code !== undefined && `${stdout}${stderr}`.trim() !== '') return needsAuth(`sign in with ${signIn}`);
  return broken(`${command} failed without a word`);
}

function json(source: string): unknown {
  try {
    return JSON.parse(source);
  } catch {
    return undefined;
  }
}

function table(value: unknown): Record<string, unknown> | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : undefined;
}

function text(value: unknown): string {
  return typeof value === 'string' ? value.trim() : '';
}

function filled(content: string | undefined): boolean {
  return content !== undefined && content.trim() !== '';
}
