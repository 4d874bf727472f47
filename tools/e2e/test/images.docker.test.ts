import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CHECKOUT } from '../src/read-markdown.ts';
import { BUILD_LIMIT_MS } from '../src/time-limits.ts';

interface ImageFacts {
  readonly Size: number;
  readonly RootFS: { readonly Layers: readonly string[] };
  readonly Config: {
    readonly User: string;
    /** The builder without BuildKit stores the previous step here, which contains a time. */
    readonly Image?: string;
    readonly Entrypoint: readonly string[];
    readonly Healthcheck?: { readonly Test: readonly string[] };
    readonly Labels: Readonly<Record<string, string>>;
  };
}
interface Bill {
  readonly bomFormat: string;
  readonly serialNumber: string;
  readonly components: readonly {
    readonly group?: string;
    readonly name: string;
    readonly version: string;
    readonly 'bom-ref': string;
  }[];
  readonly metadata: { readonly component: { readonly 'bom-ref': string } };
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
}

const BASE_IMAGE = 'node:24-bookworm-slim';
const SERVICE = 'scanner-evm';
const IMAGES = ['opentill-test/first', 'opentill-test/again', 'opentill-test/cli'] as const;
const OVER_BASE_MAX_MIB = 40;
const run = promisify(execFile);

/** Uses BuildKit if the engine's client has it. */
async function buildEnvironment(): Promise<NodeJS.ProcessEnv> {
  const hasBuildKit = await run('docker', ['buildx', 'version']).then(
    () => true,
    () => false,
  );
  return { ...process.env, DOCKER_BUILDKIT: hasBuildKit ? '1' : '0' };
}

async function build(image: string, ...options: string[]): Promise<void> {
  const env = await buildEnvironment();
  const args = ['build', '-q', '--force-rm', '-f', 'deploy/Dockerfile', '-t', image, ...options, '.'];
  await run('docker', args, { cwd: CHECKOUT, env, timeout: BUILD_LIMIT_MS });
}

async function inspect(image: string): Promise<ImageFacts> {
  return (JSON.parse((await run('docker', ['image', 'inspect', image])).stdout) as [ImageFacts])[0];
}

async function inImage(image: string, script: string): Promise<string> {
  const args = ['run', '--rm', '--network', 'none', '--entrypoint', 'sh', image, '-c', script];
  return (await run('docker', args, { maxBuffer: 64 * 1024 * 1024 })).stdout;
}

beforeAll(async () => {
  await run('docker', ['info']).catch(() => {
    throw new Error('This test needs a running Docker engine. Start one, or skip the test.');
  });
  await build(IMAGES[0], '--build-arg', `SERVICE=${SERVICE}`);
}, BUILD_LIMIT_MS);

afterAll(async () => {
  await run('docker', ['image', 'rm', '--force', ...IMAGES]).catch(() => undefined);
});

test('the image has built code with production packages, and no build or test files', async () => {
  const packages = (await inImage(IMAGES[0], 'ls /app/node_modules/.pnpm')).split('\n');
  const names = packages.map((name) => name.replace(/@(file|[0-9]).*/, ''));
  expect(names).toEqual(expect.arrayContaining(['@opentill+scanner', '@opentill+chain-evm', 'ethers', 'pg']));
  for (const name of [
    'typescript',
    'vitest',
    '@swc+core',
    'solc',
    'express',
    '@opentill+testkit',
    '@opentill+wallet',
  ])
    expect(names).not.toContain(name);
  const find = (what: string) => inImage(IMAGES[0], `find /app ${what} | head -n 5`);
  expect(await find(`-type f -name '*.ts'`)).toBe('');
  expect(
    await find(
      `-path '*/@opentill/*/src' -o -path '*/@opentill/*/test' -o -name tsconfig.json -path '*@opentill*'`,
    ),
  ).toBe('');
  expect(await find(`-user 1000 -o -perm -o+w -not -type l`)).toBe('');
});

test('the image has a bill of materials of exactly the installed packages', async () => {
  const bill = JSON.parse(await inImage(IMAGES[0], 'cat /app/sbom.cdx.json')) as Bill;
  expect(bill).toMatchObject({
    bomFormat: 'CycloneDX',
    serialNumber: expect.stringMatching(/^urn:uuid:[0-9a-f-]{36}$/),
  });
  const listed = bill.components.map(
    ({ group, name, version }) => `${group ? `${group}/` : ''}${name}@${version}`,
  );
  const script = `find /app/node_modules/.pnpm -path '*/node_modules/*' -name package.json -type f`;
  const read = `${script} | xargs node -e 'for (const f of process.argv.slice(1)) { if (!/node_modules\\/(@[^/]+\\/)?[^/]+\\/package.json$/.test(f)) continue; const p = require(f); console.log(p.name + "@" + p.version); }'`;
  const installed = (await inImage(IMAGES[0], read)).trim().split('\n');
  expect([...new Set(listed)].sort()).toEqual([...new Set(installed)].sort());
  expect(installed.length).toBeGreaterThan(50);
  // The app needs each package, directly or indirectly.
  const dependsOn = new Map(bill.dependencies.map((one) => [one.ref, one.dependsOn]));
  const reached = new Set([bill.metadata.component['bom-ref']]);
  for (const ref of reached) for (const next of dependsOn.get(ref) ?? []) reached.add(next);
  expect([...reached].slice(1).sort()).toEqual(bill.components.map((one) => one['bom-ref']).sort());
  const colours = ['pkg:npm/color-convert@', 'pkg:npm/color-string@'];
  for (const colour of colours)
    expect(bill.dependencies).toContainEqual({
      ref: expect.stringContaining(colour),
      dependsOn: [expect.stringContaining('pkg:npm/color-name@')],
    });
});

test('the image is small, unprivileged and has a health check', async () => {
  const { Size, Config } = await inspect(IMAGES[0]);
  expect((Size - (await inspect(BASE_IMAGE)).Size) / 1024 ** 2).toBeLessThan(OVER_BASE_MAX_MIB);
  expect(Config).toMatchObject({
    User: '1000:1000',
    Entrypoint: ['node', '--enable-source-maps', '/app/dist/main.js'],
    Healthcheck: { Test: ['CMD', 'node', '/app/check-health.mjs'] },
    Labels: {
      'org.opencontainers.image.title': `opentill-${SERVICE}`,
      'org.opencontainers.image.licenses': 'Apache-2.0',
    },
  });
});

describe('without a writable disk and without privileges', () => {
  const locked = ['run', '--rm', '--read-only', '--cap-drop', 'ALL', '--network', 'none'];

  test('a service names missing variables and exits with 1', async () => {
    const failed = await run('docker', [...locked, IMAGES[0]]).catch(
      (error: { code: number; stdout: string }) => error,
    );
    expect(failed).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/DATABASE_URL is missing; AMQP_URL is missing/),
    });
  });

  test(
    'a command runs by its name and has no health check',
    async () => {
      await build(IMAGES[2], '--target', 'command', '--build-arg', 'SERVICE=cli');
      expect((await run('docker', [...locked, IMAGES[2], '--help'])).stdout).toMatch(/setup .*migrations/);
      expect(
        (await run('docker', [...locked, '--entrypoint', 'opentill', IMAGES[2], '--help'])).stdout,
      ).toMatch(/setup/);
      expect((await inspect(IMAGES[2])).Config.Healthcheck).toBeUndefined();
    },
    BUILD_LIMIT_MS,
  );
});

test(
  'the build fails for a missing or unknown service',
  async () => {
    await expect(build(IMAGES[1])).rejects.toThrow(/set --build-arg SERVICE/);
    await expect(build(IMAGES[1], '--build-arg', 'SERVICE=nothing')).rejects.toThrow(
      /No projects matched|not match/i,
    );
  },
  BUILD_LIMIT_MS,
);

test(
  'a build without cache produces the same layers and configuration',
  async () => {
    await build(IMAGES[1], '--no-cache', '--build-arg', `SERVICE=${SERVICE}`);
    const [first, again] = [await inspect(IMAGES[0]), await inspect(IMAGES[1])];
    expect(again.RootFS.Layers).toEqual(first.RootFS.Layers);
    expect({ ...again.Config, Image: '' }).toEqual({ ...first.Config, Image: '' });
  },
  BUILD_LIMIT_MS,
);
