import { execFileSync } from 'node:child_process';

// Prints sizes, start times and memory of a running docker-compose project:
//   node --conditions=source deploy/compose/src/measure-containers.ts [project]
// Start times end at `service started`, with connections, keys and leases. Memory excludes the page cache.

interface Container {
  readonly Id: string;
  readonly Config: { readonly Image: string; readonly Labels: Readonly<Record<string, string>> };
  readonly State: { readonly StartedAt: string };
  readonly HostConfig: { readonly Memory: number };
}

const MIB = 1024 * 1024;
const BASE_IMAGE = process.env['NODE_IMAGE'] ?? 'node:24-bookworm-slim';
const [project = 'opentill'] = process.argv.slice(2);

const docker = (...args: string[]): string =>
  execFileSync('docker', args, { encoding: 'utf8', maxBuffer: 256 * MIB, stdio: ['ignore', 'pipe', 'pipe'] });
const sizeOf = (image: string): number => Number(docker('image', 'inspect', '-f', '{{.Size}}', image));

/** In milliseconds. Undefined for containers that are not services of Opentill. */
function startTime({ Id, State }: Container): number | undefined {
  for (const line of docker('logs', Id).split('\n').toReversed()) {
    if (!line.includes('"message":"service started"')) continue;
    const { time } = JSON.parse(line) as { time: string };
    return Date.parse(time) - Date.parse(State.StartedAt);
  }
  return undefined;
}

const ids = docker('ps', '-q', '--filter', `label=com.docker.compose.project=${project}`).trim().split('\n');
if (ids[0] === '') throw new Error(`no container of the project ${project} runs`);
const containers = JSON.parse(docker('inspect', ...ids)) as Container[];
const stats = docker('stats', '--no-stream', '--no-trunc', '--format', '{{.ID}} {{.MemUsage}}', ...ids);
const memory = new Map(
  stats
    .trim()
    .split('\n')
    .map((line) => [line.split(' ')[0], line.split(' ')[1] ?? '']),
);
const base = sizeOf(BASE_IMAGE);

const rows = containers.map((container) => {
  const { Image, Labels } = container.Config;
  const size = sizeOf(Image);
  const started = startTime(container);
  return [
    Labels['com.docker.compose.service'] ?? '',
    `${Math.round(size / MIB)}`,
    started === undefined ? '–' : `${Math.round((size - base) / MIB)}`,
    started === undefined ? '–' : `${(started / 1000).toFixed(1)}`,
    memory.get(container.Id) ?? '',
    `${Math.round(container.HostConfig.Memory / MIB)}`,
  ];
});
rows.sort(([a = ''], [b = '']) => a.localeCompare(b));
const head = ['container', 'image MiB', 'over base MiB', 'start s', 'memory', 'limit MiB'];
for (const row of [head, head.map(() => '---'), ...rows]) process.stdout.write(`| ${row.join(' | ')} |\n`);
