import { startNodeProcess, type NodeProcess, type NodeProcessOptions } from '../node-process.ts';

export interface SuiNodeOptions extends NodeProcessOptions {
  /** @default 250, as on Mainnet */
  readonly checkpointMs?: number;
}

/** SUI devnet in its own process. Its URL serves the full node's gRPC API and `devnet/…`. */
export type SuiNodeProcess = NodeProcess;

const CHECKPOINT_MS = 250;
const PROBE_TIMEOUT_MS = 1_000;

export async function startSuiNode(options: SuiNodeOptions): Promise<SuiNodeProcess> {
  const args = [`--checkpoint-ms=${options.checkpointMs ?? CHECKPOINT_MS}`];
  return startNodeProcess(
    { kind: 'sui', name: 'the SUI devnet', args, stateFile: 'state.bin', answers },
    options,
  );
}

async function answers(url: string): Promise<boolean> {
  const response = await fetch(`${url}/devnet/summary`, {
    method: 'POST',
    body: '{}',
    signal: AbortSignal.timeout(PROBE_TIMEOUT_MS),
  });
  await response.arrayBuffer();
  return response.ok;
}
