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
const OVER_BASE_MAX_MIB = 8;
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

/** Names and versions, sorted, according to the source maps: sources are `libs/<name>/…` or `<name>@<version>/…`. */
async function bundledPackages(image: string): Promise<readonly string[]> {
  const script = `const fs = require("fs"); for (const f of fs.readdirSync("/app/dist")) if (f.endsWith(".map")) console.log(JSON.parse(fs.readFileSync("/app/dist/" + f)).sources.join("\\n"))`;
  const sources = (await inImage(image, `node -e '${script}'`)).trim().split('\n');
  const ids = sources.map((source) => {
    const [, own] = /^(?:libs|services|deploy|tools)\/([^/]+)\//.exec(source) ?? [];
    return own === undefined ? (/^(?:@[^/]+\/)?[^/]+/.exec(source)?.[0] ?? source) : `@opentill/${own}@0.1.0`;
  });
  return [...new Set(ids)].sort();
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

test('the image has one bundle of its service, and no build or test files', async () => {
  expect((await inImage(IMAGES[0], 'ls -A /app')).trim().split('\n').sort()).toEqual(
    ['THIRD-PARTY-NOTICES.txt', 'check-health.sh', 'dist', 'package.json', 'sbom.cdx.json'].sort(),
  );
  const packages = await bundledPackages(IMAGES[0]);
  const names = packages.map((id) => id.replace(/@[^@]*$/, ''));
  expect(names).toEqual(expect.arrayContaining(['@opentill/scanner', '@opentill/chain-evm', 'ethers', 'pg']));
  for (const name of ['express', 'tronweb', '@mysten/sui', '@opentill/testkit', '@opentill/wallet'])
    expect(names).not.toContain(name);
  const find = (what: string) => inImage(IMAGES[0], `find /app ${what} | head -n 5`);
  expect(await find(`-type f -name '*.ts'`)).toBe('');
  expect(await find(`-user 1000 -o -perm -o+w -not -type l`)).toBe('');
});

test('the image lists exactly the bundled packages, and their licences', async () => {
  const bill = JSON.parse(await inImage(IMAGES[0], 'cat /app/sbom.cdx.json')) as Bill;
  expect(bill).toMatchObject({
    bomFormat: 'CycloneDX',
    serialNumber: expect.stringMatching(/^urn:uuid:[0-9a-f-]{36}$/),
  });
  const own = `@opentill/${SERVICE}@`;
  const listed = bill.components.map(
    ({ group, name, version }) => `${group ? `${group}/` : ''}${name}@${version}`,
  );
  const packages = (await bundledPackages(IMAGES[0])).filter((id) => !id.startsWith(own));
  expect(listed.sort()).toEqual(packages);
  expect(packages.length).toBeGreaterThan(40);
  const notices = await inImage(IMAGES[0], 'cat /app/THIRD-PARTY-NOTICES.txt');
  const noticed = [...notices.matchAll(/^(\S+@\d\S*) \(.+\)$/gm)].map(([, id]) => id);
  expect(noticed).toEqual(packages.filter((id) => !id.startsWith('@opentill/')));
  expect(bill.dependencies).toContainEqual({
    ref: expect.stringContaining('pkg:npm/pg-pool@'),
    dependsOn: [expect.stringContaining('pkg:npm/pg@')],
  });
});

test('the image is small, unprivileged and has a health check', async () => {
  const { Size, Config } = await inspect(IMAGES[0]);
  expect((Size - (await inspect(BASE_IMAGE)).Size) / 1024 ** 2).toBeLessThan(OVER_BASE_MAX_MIB);
  expect(Config).toMatchObject({
    User: '1000:1000',
    Entrypoint: ['node', '/app/dist/main.js'],
    Healthcheck: { Test: ['CMD', 'bash', '/app/check-health.sh'] },
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
