import js from '@eslint/js';
import tseslint from 'typescript-eslint';

/** Typed rules: what they find is a bug, not a taste. Taste is prettier's. */
const noEnvironment = {
  selector: "MemberExpression[object.name='process'][property.name='env']",
  message: 'The environment is read by src/entry and src/cli only; take AppConfig.',
};
const noForwardRef = {
  selector: "CallExpression[callee.name='forwardRef']",
  message: 'A cycle between modules means the boundary is in the wrong place.',
};

export default tseslint.config(
  { ignores: ['dist/', 'coverage/', '**/*.gen.ts', '.svc/', '.chaos/'] },
  js.configs.recommended,
  ...tseslint.configs.recommendedTypeChecked.map((config) => ({ ...config, files: ['**/*.ts'] })),
  {
    files: ['**/*.ts'],
    languageOptions: { parserOptions: { project: './tsconfig.json', tsconfigRootDir: import.meta.dirname } },
    linterOptions: { reportUnusedDisableDirectives: 'error' },
    rules: {
      '@typescript-eslint/no-floating-promises': ['error', { ignoreVoid: true }],
      '@typescript-eslint/no-misused-promises': ['error', { checksVoidReturn: { arguments: true, attributes: false } }],
      '@typescript-eslint/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
      '@typescript-eslint/no-explicit-any': 'error',
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_', caughtErrors: 'none' }],
      '@typescript-eslint/require-await': 'off', // an async method may implement a contract without awaiting
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true, allowBoolean: true }],
      // An auto-fix to `import type` erases the metadata that injection needs.
      '@typescript-eslint/consistent-type-imports': 'off',
      '@typescript-eslint/no-extraneous-class': 'off',
      // Its advice on generic calls breaks their inference.
      '@typescript-eslint/no-unnecessary-type-assertion': 'off',
      '@typescript-eslint/only-throw-error': ['error', { allowThrowingUnknown: true, allowThrowingAny: true }],
      eqeqeq: 'error',
    },
  },
  {
    files: ['src/**/*.ts', 'db/**/*.ts'],
    ignores: ['src/entry/**', 'src/cli/**', '**/*.spec.ts', '**/*.db-spec.ts', '**/*.deep-spec.ts'],
    rules: {
      'no-console': 'error',
      'no-restricted-syntax': ['error', noEnvironment, noForwardRef],
    },
  },
  {
    // Tests look into bodies of every shape, and hand collaborators what they need of them.
    files: ['test/**/*.ts', 'bench/**/*.ts', '**/*.spec.ts', '**/*.db-spec.ts', '**/*.deep-spec.ts', '**/testing/**/*.ts'],
    rules: {
      '@typescript-eslint/no-explicit-any': 'off',
      '@typescript-eslint/no-unsafe-argument': 'off',
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-call': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
      '@typescript-eslint/no-unsafe-return': 'off',
      '@typescript-eslint/unbound-method': 'off',
    },
  },
  {
    files: ['**/*.mjs', '*.js', '*.cjs', 'bin/*.js', 'bench/**/*.js'],
    languageOptions: {
      globals: {
        process: 'readonly',
        console: 'readonly',
        URL: 'readonly',
        module: 'writable',
        setTimeout: 'readonly',
        clearTimeout: 'readonly',
      },
    },
  },
);
