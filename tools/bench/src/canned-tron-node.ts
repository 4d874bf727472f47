import { createCannedTronChain, type CannedTronBlock, type CannedTronPlan } from './canned-tron-chain.ts';
import { serveCanned, type CannedAnswers, type CannedDescription } from './serve-canned.ts';

/** A TRON network of a canned node; it gets a port for each source. */
export interface CannedTronNetwork extends CannedDescription {
  readonly decimals: number;
  readonly chain: CannedTronPlan;
  /** The head when the node is ready. All blocks up to it are made before. */
  readonly headHeight: number;
  /** A block more every so many milliseconds; 0: the head stays. */
  readonly blockEveryMs: number;
  /** The solid block is so many blocks below the head. */
  readonly solidLagBlocks: number;
}

interface Asked {
  readonly num?: number;
  readonly id_or_num?: string;
  readonly value?: string;
}

const text = (value: string): readonly Buffer[] => [Buffer.from(value, 'latin1')];
/** Of a head that moves. */
const KEPT_BLOCKS = 64;
const [NO_BLOCK, NO_INFOS] = [text('{}'), text('[]')];

function createCannedTronNetwork(network: CannedTronNetwork): CannedAnswers {
  const { headHeight, blockEveryMs, solidLagBlocks } = network;
  const chain = createCannedTronChain(network.chain);
  const blocks = new Map<number, CannedTronBlock>();
  for (let height = 0; height <= headHeight; height += 1) blocks.set(height, chain.make(height));
  const startedAt = performance.now();
  let head = headHeight;

  function moveHead(): void {
    if (blockEveryMs === 0) return;
    const due = headHeight + Math.floor((performance.now() - startedAt) / blockEveryMs);
    for (; head < due; head += 1) {
      blocks.set(head + 1, chain.make(head + 1));
      // Block 0 names the chain.
      if (head + 1 > KEPT_BLOCKS) blocks.delete(head + 1 - KEPT_BLOCKS);
    }
  }

  const decimals = network.decimals.toString(16).padStart(64, '0');

  function answer(side: string, method: string, asked: Asked): readonly Buffer[] {
    const top = side === 'walletsolidity' ? head - solidLagBlocks : head;
    const at = (height: number): CannedTronBlock | undefined =>
      height <= top ? blocks.get(height) : undefined;
    const part = (height: number, kind: keyof CannedTronBlock, nothing: readonly Buffer[]) => {
      const block = at(height);
      return block === undefined ? nothing : [block[kind]];
    };
    switch (method) {
      case 'getblock':
        return part(asked.id_or_num === undefined ? top : Number(asked.id_or_num), 'header', NO_BLOCK);
      case 'getblockbynum':
        return part(asked.num ?? 0, 'block', NO_BLOCK);
      case 'gettransactioninfobyblocknum':
        return part(asked.num ?? 0, 'infos', NO_INFOS);
      case 'gettransactioninfobyid':
        return text(chain.info(asked.value ?? '') ?? '{}');
      case 'triggerconstantcontract':
        return text(`{"result":{"result":true},"energy_used":400,"constant_result":["${decimals}"]}`);
      default:
        throw new Error(`not canned: ${side}/${method}`);
    }
  }

  return {
    moveHead,
    head: () => head,
    answer(path, body, count) {
      const [, side = '', method = ''] = path.split('/');
      count(method);
      return answer(side, method, (body === '' ? {} : JSON.parse(body)) as Asked);
    },
  };
}

serveCanned((network: CannedTronNetwork) => createCannedTronNetwork(network));
