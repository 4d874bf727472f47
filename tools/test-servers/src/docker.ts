import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { startProcessGroup, type ProcessGroup } from './process-group.ts';

const ENGINE_DEADLINE_MS = 5_000;
const PULL_DEADLINE_MS = 180_000;
const REMOVE_DEADLINE_MS = 10_000;
const STOP_DEADLINE_MS = 4_000;

/** Runs in the foreground of its own `docker run`, so that either end also ends the other. */
export interface ContainerOptions {
  readonly name: string;
  readonly image: string;
  /** Port on 127.0.0.1 and port in the container. */
  readonly ports: readonly { readonly host: number; readonly container: number }[];
  readonly env: Readonly<Record<string, string>>;
  /** Undefined gives an anonymous volume, which is deleted with the container. */
  readonly volume?: { readonly name: string; readonly path: string };
  readonly hostname?: string;
  readonly args?: readonly string[];
  readonly stopSignal: NodeJS.Signals;
  readonly dir: string;
  readonly isReady: () => boolean | Promise<boolean>;
  readonly readyDeadlineMs: number;
  readonly signal?: AbortSignal | undefined;
}

export async function isDockerAnswering(): Promise<boolean> {
  return docker(['version', '--format', '{{.Server.Version}}'], ENGINE_DEADLINE_MS);
}

/** Pulls the image if necessary. False if that fails. */
export async function hasOrPullsImage(image: string, say: (line: string) => void): Promise<boolean> {
  if (await docker(['image', 'inspect', image], ENGINE_DEADLINE_MS)) return true;
  say(`pulling ${image}`);
  return docker(['pull', '--quiet', image], PULL_DEADLINE_MS);
}

export async function removeVolume(name: string): Promise<void> {
  await docker(['volume', 'rm', '--force', name], REMOVE_DEADLINE_MS);
}

/** Waits until the container is ready. Throws GatewayError of process-group. */
export async function startContainer(options: ContainerOptions): Promise<ProcessGroup> {
  const containerName = `opentill-${options.name}-${randomBytes(4).toString('hex')}`;
  const remove = async (): Promise<void> => {
    await docker(['rm', '--force', '--volumes', containerName], REMOVE_DEADLINE_MS);
  };
  try {
    const group = await startProcessGroup(
      {
        name: `container ${containerName} of ${options.image}`,
        command: 'docker',
        args: runArguments(options, containerName),
        env: process.env,
        logFile: join(options.dir, `${options.name}.log`),
        stopSignal: options.stopSignal, // the docker command forwards it to the container
        stopDeadlineMs: STOP_DEADLINE_MS,
      },
      {
        isReady: options.isReady,
        deadlineMs: options.readyDeadlineMs,
        pollIntervalMs: 200,
        signal: options.signal,
      },
    );
    return {
      ...group,
      stop: async (request) => {
        await group.stop(request);
        await remove(); // --rm does not remove it if the command was killed
      },
    };
  } catch (error) {
    await remove();
    throw error;
  }
}

function runArguments(options: ContainerOptions, containerName: string): string[] {
  return [
    'run',
    '--rm',
    '--name',
    containerName,
    ...options.ports.flatMap(({ host, container }) => ['--publish', `127.0.0.1:${host}:${container}`]),
    ...Object.entries(options.env).flatMap(([name, value]) => ['--env', `${name}=${value}`]),
    ...(options.volume === undefined ? [] : ['--volume', `${options.volume.name}:${options.volume.path}`]),
    ...(options.hostname === undefined ? [] : ['--hostname', options.hostname]),
    options.image,
    ...(options.args ?? []),
  ];
}

/** False if the command fails, is missing or exceeds the deadline. */
async function docker(args: readonly string[], deadlineMs: number): Promise<boolean> {
  try {
    await promisify(execFile)('docker', args, { timeout: deadlineMs, killSignal: 'SIGKILL' });
    return true;
  } catch {
    return false;
  }
}
