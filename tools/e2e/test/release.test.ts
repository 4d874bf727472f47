import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { CHECKOUT } from '../src/read-markdown.ts';

const read = (file: string) => readFileSync(join(CHECKOUT, file), 'utf8');
const WORKFLOWS = globSync('.github/workflows/*.yml', { cwd: CHECKOUT });

interface Step {
  readonly run?: string;
}
interface Job {
  readonly steps?: readonly Step[];
  readonly permissions?: Readonly<Record<string, string>>;
  readonly strategy?: { readonly matrix: { readonly include: readonly Image[] } };
}
interface Image {
  readonly service: string;
  readonly target: string;
}
interface Workflow {
  readonly permissions: Readonly<Record<string, string>>;
  readonly jobs: Readonly<Record<string, Job>>;
}
const workflow = (file: string) => parse(read(file)) as Workflow;
const release = workflow('.github/workflows/release.yml');

describe('workflows', () => {
  it('pin every action by the hash of a commit, with its version', () => {
    expect(WORKFLOWS.length).toBeGreaterThan(1);
    const uses = WORKFLOWS.flatMap((file) =>
      [...read(file).matchAll(/uses: (.+)/g)].map(([, one]) => one ?? ''),
    );
    const foreign = uses.filter((one) => !one.startsWith('./'));
    expect(foreign.length).toBeGreaterThan(5);
    expect(foreign.filter((one) => !/^[\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(one))).toEqual([]);
    const hashes = new Map<string, Set<string>>();
    for (const one of foreign) {
      const [name = '', rest = ''] = one.split('@');
      hashes.set(name, (hashes.get(name) ?? new Set()).add(rest));
    }
    expect([...hashes].filter(([, versions]) => versions.size > 1)).toEqual([]);
  });

  it('give each job only its own rights, and put no expression into a shell', () => {
    for (const file of WORKFLOWS) {
      const { permissions, jobs } = workflow(file);
      expect(
        Object.values(permissions).filter((right) => right !== 'read'),
        file,
      ).toEqual([]);
      for (const { steps = [] } of Object.values(jobs))
        expect(steps.filter(({ run }) => run?.includes('${{'))).toEqual([]);
    }
    const writers = Object.entries(release.jobs).filter(
      ([, job]) => job.permissions?.['contents'] === 'write',
    );
    expect(writers.map(([name]) => name)).toEqual(['release']);
  });

  it('publish the image of every service that the compose files build', () => {
    const built = ['docker-compose.yml', 'docker-compose.small.yml'].flatMap((file) =>
      [...read(file).matchAll(/SERVICE: ([\w-]+)/g)].map(([, name]) => name),
    );
    const published = release.jobs['images']?.strategy?.matrix.include ?? [];
    const shipped = [...new Set(built)].filter((name) => name !== 'demo-shop' && name !== 'compose-devnet');
    expect(published.map(({ service }) => service).toSorted()).toEqual(shipped.toSorted());
    for (const { service, target } of published)
      if (service !== 'small')
        expect(read('docker-compose.yml')).toContain(
          `target: ${target}, args: { <<: *build-arguments, SERVICE: ${service} }`,
        );
    const listed = /for service in (.+); do/.exec(read('.github/workflows/release.yml'))?.[1]?.split(' ');
    expect(listed).toEqual(published.map(({ service }) => service));
  });
});

it('CHANGELOG.md has a section for the version of all packages, newest first', () => {
  const { version } = JSON.parse(read('package.json')) as { version: string };
  const packages = globSync('{libs,services,deploy,tools}/*/package.json', { cwd: CHECKOUT });
  for (const file of packages) expect(JSON.parse(read(file)), file).toMatchObject({ version });
  const sections = [...read('CHANGELOG.md').matchAll(/^## (.+)$/gm)].map(([, heading = '']) => heading);
  const form = /^\[(\d+\.\d+\.\d+)\] - (Unreleased|\d{4}-\d{2}-\d{2})$/;
  expect(sections.filter((heading) => !form.test(heading))).toEqual([]);
  const versions = sections.map((heading) => form.exec(heading)?.[1] ?? '');
  expect(versions[0]).toBe(version);
  const compare = new Intl.Collator('en', { numeric: true }).compare;
  expect(versions).toEqual(versions.toSorted(compare).toReversed());
  const kinds = [...read('CHANGELOG.md').matchAll(/^### (.+)$/gm)].map(([, kind]) => kind);
  const known = ['Added', 'Changed', 'Deprecated', 'Removed', 'Fixed', 'Security', 'Upgrade'];
  expect(kinds.filter((kind) => !known.includes(kind ?? ''))).toEqual([]);
});
