import type { BlockHash, BlockHeader } from '@opentill/chain/block';

const BLOCK_SECONDS = 12;

/** Hashes describe the block: block 7 of branch `b`, which left branch `a` at block 4, is `0x7b` with parent `0x6b`. */
export function buildChain(options: {
  readonly branch?: string;
  readonly from?: number;
  readonly to: number;
}): BlockHeader[] {
  const { branch = 'a', from = 0, to } = options;
  return Array.from({ length: to - from + 1 }, (_, place) => blockOf(branch, from + place, branch));
}

export function forkAt(
  chain: readonly BlockHeader[],
  ancestorHeight: number,
  options: { readonly branch: string; readonly to: number },
): BlockHeader[] {
  const kept = chain.filter((block) => block.height <= ancestorHeight);
  const ancestor = kept.at(-1);
  const added = buildChain({ branch: options.branch, from: ancestorHeight + 1, to: options.to });
  const [first, ...rest] = added;
  if (first === undefined) return kept;
  return [...kept, { ...first, parentHash: ancestor?.hash ?? first.parentHash }, ...rest];
}

function blockOf(branch: string, height: number, parentBranch: string): BlockHeader {
  return {
    height,
    hash: `0x${height}${branch}` as BlockHash,
    parentHash: `0x${height - 1}${parentBranch}` as BlockHash,
    timeSeconds: 1_700_000_000 + height * BLOCK_SECONDS,
  };
}
