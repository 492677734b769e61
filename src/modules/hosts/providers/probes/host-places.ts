/** Below the home of whoever runs the service: where installers put programs. There is nothing secret in them. */
export const PROGRAMS = ['.local/bin', '.local/share/claude', '.npm-global', '.opencode/bin', '.bun/bin', '.cargo/bin', '.nvm/versions'];
/** Where the programs of presets, and tools, keep what somebody has signed in with. */
export const SIGN_INS: Readonly<Record<string, readonly string[]>> = {
  claude: ['.claude', '.claude.json'],
  codex: ['.codex'],
  gemini: ['.gemini'],
  antigravity: ['.gemini'],
  cursor: ['.cursor', '.config/cursor'],
  copilot: ['.copilot', '.config/github-copilot'],
  amp: ['.config/amp', '.local/share/amp'],
  opencode: ['.config/opencode', '.local/share/opencode'],
  groq: ['.config/opencode', '.local/share/opencode'],
  cerebras: ['.config/opencode', '.local/share/opencode'],
  auggie: ['.augment'],
  mimocode: ['.local/share/mimocode', '.config/mimocode'],
  pi: ['.pi'],
  omp: ['.omp'],
  grok: ['.grok'],
  kimi: ['.kimi'],
  github_cli: ['.config/gh'],
  kiro: ['.kiro', '.aws/sso/cache', '.local/share/kiro-cli'],
};
