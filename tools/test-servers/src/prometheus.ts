import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { unpackDebianPackages } from './debian-packages.ts';
import { startProcessGroup } from './process-group.ts';

export interface PrometheusBinaries {
  readonly prometheus: string;
  readonly promtool: string;
}

/** Uses an installed Prometheus, else unpacks Debian's package into the cache. */
export async function findOrUnpackPrometheus(
  say: (line: string) => void = () => undefined,
): Promise<PrometheusBinaries> {
  const installed = ['/usr/bin', '/usr/local/bin']
    .map(binariesIn)
    .find(({ promtool }) => existsSync(promtool));
  if (installed !== undefined) return installed;
  const unpacked = await unpackDebianPackages({ name: 'prometheus', bare: ['prometheus'], say });
  if (unpacked.ok) return binariesIn(join(unpacked.root, 'usr/bin'));
  throw new Error(
    `Prometheus is not installed, and Debian's package could not be unpacked (${unpacked.reason ?? 'no apt'}). ` +
      'Install it: sudo apt-get install prometheus',
  );
}

function binariesIn(folder: string): PrometheusBinaries {
  return { prometheus: join(folder, 'prometheus'), promtool: join(folder, 'promtool') };
}

export interface PrometheusServer {
  readonly url: string;
  stop(): Promise<void>;
}

export interface PrometheusOptions {
  /** Receives data and log. */
  readonly dir: string;
  readonly configFile: string;
  readonly port: number;
}

const START_DEADLINE_MS = 300_000;
const STOP_DEADLINE_MS = 5_000;

export async function startPrometheus({
  dir,
  configFile,
  port,
}: PrometheusOptions): Promise<PrometheusServer> {
  const { prometheus } = await findOrUnpackPrometheus();
  const url = `http://127.0.0.1:${port}`;
  const server = await startProcessGroup(
    {
      name: 'Prometheus',
      command: prometheus,
      args: [
        `--config.file=${configFile}`,
        `--storage.tsdb.path=${join(dir, 'data')}`,
        `--web.listen-address=127.0.0.1:${port}`,
      ],
      env: { PATH: process.env['PATH'] },
      logFile: join(dir, 'prometheus.log'),
      stopDeadlineMs: STOP_DEADLINE_MS,
    },
    { isReady: async () => (await fetch(`${url}/-/ready`)).ok, deadlineMs: START_DEADLINE_MS },
  );
  return { url, stop: () => server.stop() };
}
