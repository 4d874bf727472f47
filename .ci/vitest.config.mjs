// `npm test` runs unit (no servers), integration (real Postgres, RabbitMQ and anvil) and e2e (the gateway as real
// processes). `npm run test:full` adds full and e2e-full, docker if a Docker engine answers, and kubernetes if
// OPENTILL_TEST_KUBECONFIG names a cluster.
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
// Workers and the processes that tests start compile each module once (NODE_ENVIRONMENT of tools/testkit).
process.env.NODE_COMPILE_CACHE ??= `${root}node_modules/.cache/node-compile`;
const SERVERS = { globalSetup: [`${root}tools/testkit/src/run/global-setup.ts`] };
const GROUPS = '{libs,services,deploy,tools}/*';

/**
 * isolate: false loads each module once per worker, not once per test file. Node itself loads the TypeScript, so that Vite
 * transforms nothing; nodeLoader would add module mocks, which no test uses.
 */
const project = (name, test) => ({
  root,
  test: {
    name,
    environment: 'node',
    pool: 'forks',
    isolate: false,
    experimental: { viteModuleRunner: false, nodeLoader: false },
    execArgv: ['--conditions=source', '--max-semi-space-size=64'], // MiB; fewer collections of young objects
    testTimeout: 300_000, // several suites and a gateway of processes share the machine
    hookTimeout: 300_000,
    exclude: ['**/node_modules/**', '**/dist/**', '**/.local/**'],
    ...test,
  },
});

export default {
  test: {
    projects: [
      project('unit', { include: [`${GROUPS}/src/**/*.test.ts`] }),
      project('integration', {
        ...SERVERS,
        include: [`${GROUPS}/test/**/*.test.ts`],
        exclude: ['**/node_modules/**', '**/dist/**', '**/*.{full,docker}.test.ts', 'tools/e2e/**'],
      }),
      project('e2e', {
        include: ['tools/e2e/test/**/*.test.ts'],
        exclude: ['**/node_modules/**', '**/dist/**', '**/*.{full,docker,kubernetes}.test.ts'],
      }),
      project('full', {
        ...SERVERS,
        include: [`${GROUPS}/test/**/*.full.test.ts`],
        exclude: ['**/node_modules/**', '**/dist/**', 'tools/e2e/**'],
      }),
      project('e2e-full', { include: ['tools/e2e/test/**/*.full.test.ts'] }),
      project('kubernetes', { include: ['tools/e2e/test/**/*.kubernetes.test.ts'] }),
      project('docker', { include: [`${GROUPS}/test/**/*.docker.test.ts`] }),
    ],
  },
};
