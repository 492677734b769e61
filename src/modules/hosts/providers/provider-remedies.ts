import type { ReadinessStatus } from './providers.catalogue.js';

interface Remedy {
  readonly install: string;
  readonly signIn?: string;
  /** What shows why a look failed; its sign-in unless told. */
  readonly look?: string;
}

const npm = (name: string, signIn: string, look?: string): Remedy => ({
  install: `npm install -g ${name}`,
  signIn,
  ...(look === undefined ? {} : { look }),
});
const script = (url: string, signIn: string): Remedy => ({ install: `curl -fsSL ${url} | bash`, signIn });

/** As the makers of each program say. They are run on a worker host as the user of the service. */
const REMEDIES: Readonly<Record<string, Remedy>> = {
  claude: npm('@anthropic-ai/claude-code', 'claude auth login', 'claude auth status'),
  codex: npm('@openai/codex', 'codex login', 'codex login status'),
  gemini: npm('@google/gemini-cli', 'gemini'),
  grok: script('https://x.ai/cli/install.sh', 'grok login'),
  kimi: { install: 'uv tool install kimi-cli', signIn: 'kimi' },
  kiro: { ...script('https://cli.kiro.dev/install', 'kiro-cli login'), look: 'kiro-cli whoami' },
  cursor: { ...script('https://cursor.com/install', 'cursor-agent login'), look: 'cursor-agent status' },
  copilot: npm('@github/copilot', 'copilot'),
  amp: npm('@sourcegraph/amp', 'amp login'),
  opencode: npm('opencode-ai', 'opencode auth login'),
  groq: npm('opencode-ai', 'opencode auth login'),
  cerebras: npm('opencode-ai', 'opencode auth login'),
  mimocode: npm('@mimo-ai/cli', 'mimo'),
  auggie: npm('@augmentcode/auggie', 'auggie login'),
  pi: npm('@mariozechner/pi-coding-agent', 'pi'),
  omp: { install: 'bun install -g @oh-my-pi/pi-coding-agent', signIn: 'omp' },
  antigravity: script('https://antigravity.google/cli/install.sh', 'agy'),
  github_cli: { install: 'sudo apt-get install gh', signIn: 'gh auth login', look: 'gh auth status' },
};

/** The command that makes an item usable where it was found so; undefined where nobody can say. */
export function remedyOf(item: string, status: ReadinessStatus): string | undefined {
  const remedy = Object.hasOwn(REMEDIES, item) ? REMEDIES[item] : undefined;
  if (remedy === undefined || status === 'configured') return undefined;
  if (status === 'not_installed') return remedy.install;
  return status === 'probe_error' ? (remedy.look ?? remedy.signIn) : remedy.signIn;
}
