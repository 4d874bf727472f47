import { startNodeProcess, type NodeProcess, type NodeProcessOptions } from '../node-process.ts';

export interface TronNodeOptions extends NodeProcessOptions {
  readonly blockTimeMs: number;
  /** Blocks between the solidified block and the head. */
  readonly solidLagBlocks: number;
}

/** TRON devnet in its own process. Its URL serves `wallet/…`, `walletsolidity/…` and `devnet/…`. */
export type TronNode = NodeProcess;

const PROBE_TIMEOUT_MS = 1_000;

export async function startTronNode(options: TronNodeOptions): Promise<TronNode> {
  const args = [`--block-time-ms=${options.blockTimeMs}`, `--solid-lag=${options.solidLagBlocks}`];
  return startNodeProcess(
    { kind: 'tron', name: 'the TRON devnet', args, stateFile: 'state.bin', answers },
    options,
  );
}

async function answers(url: string): Promise<boolean> {
  const response = await fetch(`${url}/wallet/getnowblock`, {
    method: 'POST',
    signal: AbortSignal.timeout(PROBE_TIMEOUT_MS),
  });
  await response.arrayBuffer();
  return response.ok;
}
