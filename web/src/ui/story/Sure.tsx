// Asks once more before something is done, and says what that will be.
import { useState } from "react";
import { asProblem, type Problem } from "../../api/problem";
import { Button } from "../Button";
import { ProblemLine } from "./ProblemLine";

interface Props {
  about: string;
  yes: string;
  run(): Promise<unknown>;
  onClose(): void;
}

export function Sure({ about, yes, run, onClose }: Props) {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem | null>(null);
  const go = async () => {
    setBusy(true);
    try {
      await run();
      onClose();
    } catch (error) {
      setProblem(asProblem(error));
      setBusy(false);
    }
  };
  return (
    <>
      <p>{about}</p>
      <ProblemLine problem={problem} />
      <div className="story-buttons">
        <Button kind="primary" autoFocus isDisabled={busy} onPress={go}>
          {yes}
        </Button>
        <Button kind="quiet" hint="Esc" onPress={onClose}>
          Back
        </Button>
      </div>
    </>
  );
}
