import { createCannedChain, type CannedChain, type CannedChainPlan } from './canned-chain.ts';
import { serveCanned, type CannedAnswers, type CannedDescription } from './serve-canned.ts';

/** One network of a canned node; it gets a port for each source. */
export interface CannedNetwork extends CannedDescription {
  readonly chainId: number;
  readonly decimals: number;
  readonly chain: CannedChainPlan;
  /** The head when the node is ready. Blocks up to it are made before. */
  readonly firstHeight: number;
  /** A block more every so many milliseconds; 0: the head stays. */
  readonly blockEveryMs: number;
  /** `finalized` is so many blocks below the head, and moves in steps of so many. */
  readonly finalityLagBlocks: number;
  readonly finalityStepBlocks: number;
}

interface Call {
  readonly id: number;
  readonly method: string;
  readonly params: readonly unknown[];
}
const KEPT_BLOCKS = 400;
const [OPEN, CLOSE, COMMA] = [Buffer.from('['), Buffer.from(']'), Buffer.from(',')];
const text = (value: string): readonly Buffer[] => [Buffer.from(value, 'latin1')];
const NULL = text('null');

/** A network's head, and its answers. */
function createCannedNetwork(network: CannedNetwork): CannedAnswers {
  const chain: CannedChain = createCannedChain(network.chain);
  for (let height = 0; height <= network.firstHeight; height += 1) chain.block(height);
  const startedAt = performance.now();
  let head = network.firstHeight;

  function moveHead(): void {
    if (network.blockEveryMs === 0) return;
    const due = network.firstHeight + Math.floor((performance.now() - startedAt) / network.blockEveryMs);
    for (; head < due; head += 1) chain.block(head + 1);
    chain.forgetBelow(head - KEPT_BLOCKS);
  }

  function heightOf(tag: unknown): number {
    if (tag === 'latest') return head;
    if (tag !== 'finalized') return Number(tag);
    const { finalityLagBlocks: lag, finalityStepBlocks: step } = network;
    return Math.max(0, Math.floor((head - lag) / step) * step);
  }

  function logs({ fromBlock, toBlock, blockHash }: Readonly<Record<string, unknown>>): readonly Buffer[] {
    const one = typeof blockHash === 'string' ? chain.heightOf(blockHash) : undefined;
    const [from, to] = one === undefined ? [Number(fromBlock), heightOf(toBlock)] : [one, one];
    const parts: Buffer[] = [OPEN];
    for (let height = from; height <= Math.min(to, head); height += 1) {
      const block = chain.block(height);
      if (block.logs.length === 0) continue;
      if (parts.length > 1) parts.push(COMMA);
      parts.push(block.logs);
    }
    parts.push(CLOSE);
    return parts;
  }

  function block(height: number | undefined): readonly Buffer[] {
    return height === undefined || height > head ? NULL : [chain.block(height).header];
  }

  function answerCall({ method, params }: Call): readonly Buffer[] {
    const [first] = params;
    switch (method) {
      case 'eth_chainId':
        return text(`"0x${network.chainId.toString(16)}"`);
      case 'eth_blockNumber':
        return text(`"0x${head.toString(16)}"`);
      case 'eth_getCode':
        return text('"0x6080604052"');
      case 'eth_call':
        return text(`"0x${network.decimals.toString(16).padStart(64, '0')}"`);
      case 'eth_getBlockByNumber':
        return block(heightOf(first));
      case 'eth_getBlockByHash':
        return block(chain.heightOf(String(first)));
      case 'eth_getLogs':
        return logs(first as Readonly<Record<string, unknown>>);
      case 'eth_getTransactionReceipt':
        return text(chain.receipt(String(first)) ?? 'null');
      case 'eth_getBlockReceipts': {
        const height =
          typeof first === 'string' && first.length === 66 ? chain.heightOf(first) : heightOf(first);
        return height === undefined ? NULL : [chain.receiptsOf(chain.block(height))];
      }
      default:
        throw new Error(`not canned: ${method}`);
    }
  }

  return {
    moveHead,
    head: () => head,
    answer(_path, body, count) {
      const asked = JSON.parse(body) as Call | readonly Call[];
      const calls = Array.isArray(asked) ? (asked as readonly Call[]) : [asked as Call];
      const parts: Buffer[] = Array.isArray(asked) ? [OPEN] : [];
      for (const [place, call] of calls.entries()) {
        count(call.method);
        parts.push(
          Buffer.from(`${place === 0 ? '' : ','}{"jsonrpc":"2.0","id":${call.id},"result":`),
          ...answerCall(call),
          Buffer.from('}'),
        );
      }
      if (Array.isArray(asked)) parts.push(CLOSE);
      return parts;
    },
  };
}

serveCanned((network: CannedNetwork) => createCannedNetwork(network));
