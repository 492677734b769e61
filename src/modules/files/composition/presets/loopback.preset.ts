import { permissionMode, preset } from './preset.js';

/** The agent that ships with the product: no account, no network, answers that depend on the prompt alone. */
export const LOOPBACK = preset({
  display_name: 'Loopback',
  command: 'svc-loopback-agent',
  prompt_mode: 'none',
  supports_acp: true,
  options_schema: [
    permissionMode([
      ['ask', 'Asks', '--permission-mode', 'ask'],
      ['allow', 'Allows everything', '--permission-mode', 'allow'],
      ['deny', 'Denies everything', '--permission-mode', 'deny'],
    ]),
  ],
});
