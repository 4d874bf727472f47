import { spawn } from 'node:child_process';
import { entryPoint } from '@opentill/local/checkout';
import type { Gateway } from '@opentill/local/start-gateway';
import { NODE_ENVIRONMENT } from '@opentill/testkit/node-environment';

export interface CommandResult {
  readonly code: number;
  readonly out: string;
  readonly errors: string;
}

export async function runOpentill(
  gateway: Pick<Gateway, 'operatorEnvironment'>,
  args: readonly string[],
): Promise<CommandResult> {
  const env = { ...NODE_ENVIRONMENT, ...gateway.operatorEnvironment };
  const child = spawn(process.execPath, [entryPoint('cli'), ...args], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let [out, errors] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text));
  const code = await new Promise<number>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (exitCode) => resolve(exitCode ?? -1));
  });
  return { code, out, errors };
}
