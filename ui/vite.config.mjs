import process from 'node:process';
import tailwindcss from '@tailwindcss/vite';
import { createLogger, defineConfig } from 'vite';

/** `theme.js` is no module on purpose: it runs before the first paint. */
const logger = createLogger('warn');
const { warn } = logger;
logger.warn = (message, options) => {
  if (!message.includes('/ui/theme.js')) warn(message, options);
};

/** Vite compiles JSX itself: the plugin for React would only add the exchange of components in development. */
export default defineConfig({
  root: import.meta.dirname,
  base: '/ui/',
  customLogger: logger,
  plugins: [tailwindcss()],
  oxc: { jsx: { runtime: 'automatic' } },
  worker: { format: 'es' },
  build: {
    target: 'es2023',
    // Inlined, an asset would be an address that the page's policy does not allow.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    emptyOutDir: true,
    license: true,
    rolldownOptions: {
      // What a key needs for an operation is a word where it is asked for, and nothing in the first load.
      optimization: { inlineConst: { mode: 'all', pass: 1 } },
      // On a machine that is busy a build takes its time: that is no fault of a plugin.
      checks: { bundlerTimings: false },
      // What the shell and the inbox need is one file: a first load of few requests. What views have in common is a second one, that comes with
      // the first of them; graphs and timelines stay by themselves.
      output: {
        codeSplitting: {
          groups: [
            {
              name: 'page',
              priority: 2,
              test: /node_modules\/(react|react-dom|scheduler|@tanstack\/(react-router|router-core|history|store|react-store))\/|ui\/src\/(app|api)\/|views\/inbox|use-sync-external-store|^\0rolldown/,
            },
            { name: 'common', priority: 1, test: /node_modules\/@tanstack\/|ui\/src\/(live|lib|parts)\// },
          ],
        },
      },
      // Directives of frameworks that render at a server.
      onLog: (level, log, next) => (log.code === 'MODULE_LEVEL_DIRECTIVE' ? undefined : next(level, log)),
    },
  },
  server: {
    proxy: Object.fromEntries(
      ['/v0', '/health', '/openapi.json'].map((path) => [path, process.env.SVC_API_URL ?? 'http://127.0.0.1:8372']),
    ),
  },
});
