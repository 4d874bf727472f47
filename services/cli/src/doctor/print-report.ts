import type { Finding, Outcome } from './finding.ts';

export interface Section {
  readonly title: string;
  readonly findings: readonly Finding[];
}

export function reportLines(sections: readonly Section[]): readonly string[] {
  return sections.flatMap(({ title, findings }) => {
    const subject = widest(findings.map((finding) => finding.subject));
    const check = widest(findings.map((finding) => finding.check));
    const rows = findings.flatMap((finding) => {
      const head = `  ${finding.outcome.padEnd(4)}  ${finding.subject.padEnd(subject)}  ${finding.check.padEnd(check)}  `;
      const mend = finding.mend === undefined ? [] : [`${' '.repeat(head.length)}→ ${finding.mend}`];
      return [`${head}${finding.detail}`, ...mend];
    });
    return [title, ...rows, ''];
  });
}

export function count(sections: readonly Section[], outcome: Outcome): number {
  return sections.flatMap(({ findings }) => findings).filter((finding) => finding.outcome === outcome).length;
}

function widest(texts: readonly string[]): number {
  return Math.max(0, ...texts.map((text) => text.length));
}
