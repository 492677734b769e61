import { homedir } from 'node:os';

/** Names of the worker's own environment that an agent may get. What is not named here stays here. */
const EXACT = new Set([
  ...['PATH', 'HOME', 'USER', 'LOGNAME', 'SHELL', 'TZ', 'TMPDIR', 'LANG', 'LANGUAGE', 'SSH_AUTH_SOCK'],
  ...[
    'SSL_CERT_FILE',
    'SSL_CERT_DIR',
    'NODE_EXTRA_CA_CERTS',
    'HTTP_PROXY',
    'HTTPS_PROXY',
    'NO_PROXY',
    'http_proxy',
    'https_proxy',
    'no_proxy',
  ],
  // Bedrock.
  ...['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY', 'AWS_SESSION_TOKEN', 'AWS_REGION', 'AWS_DEFAULT_REGION', 'AWS_PROFILE'],
  ...['AWS_BEARER_TOKEN_BEDROCK', 'AWS_CONFIG_FILE', 'AWS_SHARED_CREDENTIALS_FILE', 'AWS_ROLE_ARN', 'AWS_WEB_IDENTITY_TOKEN_FILE'],
  ...['CLAUDE_CONFIG_DIR', 'CLAUDE_CODE_OAUTH_TOKEN', 'CLAUDE_CODE_USE_BEDROCK', 'CLAUDE_CODE_USE_VERTEX', 'CLAUDE_CODE_ENABLE_TELEMETRY'],
  'CODEX_HOME',
]);
const PREFIXES = [
  ...['LC_', 'XDG_', 'OTEL_'],
  ...['ANTHROPIC_', 'AZURE_', 'CEREBRAS_', 'COHERE_', 'DEEPSEEK_', 'FIREWORKS_', 'GEMINI_', 'GOOGLE_', 'GROQ_', 'MISTRAL_', 'OLLAMA_'],
  ...['OPENAI_', 'OPENROUTER_', 'TOGETHER_', 'VERTEX_', 'XAI_', 'XIAOMI_'],
];
/** What the service signs in with at its collector, and what it calls itself there. */
const OWN = /^OTEL_(SERVICE_NAME|EXPORTER_OTLP_(\w+_)?HEADERS)$/;
const PATH = '/usr/local/bin:/opt/homebrew/bin:/usr/bin:/bin';

/** Built from an empty object; `PATH` and `HOME` are always there. */
export function passedToAgents(env: Readonly<Record<string, string | undefined>>): Readonly<Record<string, string>> {
  const passed: Record<string, string> = { PATH, HOME: homedir() };
  for (const [name, value] of Object.entries(env)) {
    if (value === undefined || OWN.test(name)) continue;
    if (EXACT.has(name) || PREFIXES.some((prefix) => name.startsWith(prefix))) passed[name] = value;
  }
  return Object.freeze(passed);
}
