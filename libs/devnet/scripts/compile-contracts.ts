import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

/*
 * Compiles src/contracts/*.sol to src/artifacts/*.json, which are committed so that nobody needs a compiler:
 *   node libs/devnet/scripts/compile-contracts.ts
 * A test compares the two.
 */
const CONTRACTS = join(import.meta.dirname, '..', 'src', 'contracts');
const ARTIFACTS = join(import.meta.dirname, '..', 'src', 'artifacts');

interface CompilerOutput {
  readonly errors?: readonly { readonly severity: string; readonly formattedMessage: string }[];
  readonly contracts: Readonly<
    Record<string, Record<string, { abi: unknown; evm: { bytecode: { object: string } } }>>
  >;
}

/** File name → content of every artifact. Throws on the compiler's errors and warnings. */
export function compileContracts(): Map<string, string> {
  const solc = createRequire(import.meta.url)('solc') as {
    compile(input: string): string;
    version(): string;
  };
  const sources = readdirSync(CONTRACTS).filter((file) => file.endsWith('.sol'));
  const input = {
    language: 'Solidity',
    sources: Object.fromEntries(
      sources.map((file) => [file, { content: readFileSync(join(CONTRACTS, file), 'utf8') }]),
    ),
    settings: {
      evmVersion: 'shanghai',
      optimizer: { enabled: true, runs: 200 },
      metadata: { bytecodeHash: 'none', appendCBOR: false },
      outputSelection: { '*': { '*': ['abi', 'evm.bytecode.object'] } },
    },
  };
  const output = JSON.parse(solc.compile(JSON.stringify(input))) as CompilerOutput;
  if (output.errors?.length) throw new Error(output.errors.map((error) => error.formattedMessage).join('\n'));

  const artifacts = new Map<string, string>();
  for (const contracts of Object.values(output.contracts)) {
    for (const [contractName, { abi, evm }] of Object.entries(contracts)) {
      if (evm.bytecode.object === '') continue; // an interface
      const artifact = { contractName, compiler: solc.version(), abi, bytecode: `0x${evm.bytecode.object}` };
      artifacts.set(`${contractName}.json`, `${JSON.stringify(artifact, null, 2)}\n`);
    }
  }
  return artifacts;
}

if (import.meta.main) {
  for (const [file, content] of compileContracts()) {
    writeFileSync(join(ARTIFACTS, file), content);
    console.log(file);
  }
}
