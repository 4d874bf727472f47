// One configuration, five projects: unit (pure, no servers), integration (real Postgres, RabbitMQ, anvil),
// e2e (the gateway as real processes), full (what takes longer than a commit may wait for) and docker (what needs an
// engine: test:full adds it where one answers).
const rootDir = new URL('..', import.meta.url).pathname; // absolute: jest reads a project's against the outer one
const shared = {
  rootDir,
  testEnvironment: 'node',
  testEnvironmentOptions: { customExportConditions: ['source', 'node', 'node-addons'] },
  extensionsToTreatAsEsm: ['.ts'],
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      {
        jsc: {
          target: 'es2024',
          parser: { syntax: 'typescript' },
          experimental: { keepImportAttributes: true }, // JSON modules need theirs
        },
      },
    ],
  },
  modulePathIgnorePatterns: ['/dist/', '/.local/'],
};
const servers = {
  globalSetup: '<rootDir>/tools/testkit/src/jest/global-setup.ts',
  globalTeardown: '<rootDir>/tools/testkit/src/jest/global-teardown.ts',
};

export default {
  rootDir,
  testTimeout: 300_000, // several suites and a gateway of processes share the machine
  projects: [
    {
      ...shared,
      displayName: 'unit',
      testMatch: ['<rootDir>/{libs,services,deploy,tools}/*/src/**/*.test.ts'],
    },
    {
      ...shared,
      ...servers,
      displayName: 'integration',
      testMatch: ['<rootDir>/{libs,services,deploy,tools}/*/test/**/*.test.ts'],
      testPathIgnorePatterns: ['\\.(full|docker)\\.test\\.ts$', '/tools/e2e/'],
    },
    {
      ...shared,
      displayName: 'e2e',
      testMatch: ['<rootDir>/tools/e2e/test/**/*.test.ts'],
      testPathIgnorePatterns: ['\\.(full|docker)\\.test\\.ts$'],
    },
    {
      ...shared,
      ...servers,
      displayName: 'full',
      testMatch: ['<rootDir>/{libs,services,deploy,tools}/*/test/**/*.full.test.ts'],
    },
    {
      ...shared,
      displayName: 'docker',
      testMatch: ['<rootDir>/{libs,services,deploy,tools}/*/test/**/*.docker.test.ts'],
    },
  ],
};
