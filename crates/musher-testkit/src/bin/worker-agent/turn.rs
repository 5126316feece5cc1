//! One turn: the directives of a prompt, act by act, with an ear for what comes in between.

use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};

use crate::agent::{Agent, Message, News};
use crate::asking::Consent;
use crate::calls::Charge;
use crate::directive::{self, Act, Escape, Work};
use crate::home::Spent;
use crate::wire::{Call, Flow};
use crate::{family, temper};

/// What a turn has brought so far.
#[derive(Debug)]
pub(crate) struct Turn {
    pub(crate) began: Instant,
    /// Messages of the agent.
    pub(crate) messages: u64,
    pub(crate) last_text: String,
    pub(crate) denials: Vec<Json>,
    pub(crate) spent: Spent,
    pub(crate) charge: Charge,
}

/// What ends a turn before its work is done.
#[derive(Debug)]
pub(crate) enum Cut {
    /// With the real agent's word for how.
    Aborted(&'static str),
    Failed(String),
    /// The whole process ends, with this code.
    Leave(u8),
    Broken(io::Error),
}

impl From<io::Error> for Cut {
    fn from(error: io::Error) -> Self {
        Self::Broken(error)
    }
}

impl Agent {
    /// Does one turn; gives the exit code if the process ends in it.
    pub(crate) fn turn(&mut self, message: &Message) -> io::Result<Option<u8>> {
        self.in_turn = true;
        self.home.remember(&self.wire.session, &mut self.memory)?;
        self.home.append("told", &Json::from(message.text.as_str()).to_string())?;
        self.wire.state("running")?;
        self.wire.init()?;
        self.wire.replay(message.frame.clone())?;
        let mut turn = Turn {
            began: Instant::now(),
            messages: 0,
            last_text: String::new(),
            denials: Vec::new(),
            spent: match self.charge {
                Charge::Turn => Spent { input: 10, output: 5, cost: 0.001 },
                Charge::Calls => Spent::default(),
            },
            charge: self.charge,
        };
        let end = match self.perform(&mut turn, &message.text) {
            Err(Cut::Leave(code)) => return Ok(Some(code)),
            Err(Cut::Broken(error)) => return Err(error),
            Err(Cut::Aborted(how)) => self.aborted(&turn, how),
            Err(Cut::Failed(why)) => self.failed(&turn, &why),
            Ok(()) => self.completed(&turn),
        };
        self.in_turn = false;
        // What came too late for this turn begins the next one.
        while let Some(late) = self.steers.pop_back() {
            self.queue.push_front(late);
        }
        end?;
        self.wire.state("idle")?;
        Ok(None)
    }

    fn perform(&mut self, turn: &mut Turn, prompt: &str) -> Result<(), Cut> {
        let works = directive::read(prompt).map_err(Cut::Failed)?;
        for work in &works {
            turn.spent.input = work.input.unwrap_or(turn.spent.input);
            turn.spent.output = work.output.unwrap_or(turn.spent.output);
            turn.spent.cost = work.cost.unwrap_or(turn.spent.cost);
        }
        for work in &works {
            for act in &work.acts {
                self.act(turn, work, act)?;
            }
        }
        self.pause(Duration::ZERO)?;
        self.acknowledge(turn)?;
        if turn.messages == 0 {
            self.say(turn, "ok", Flow::Whole)?;
        }
        Ok(())
    }

    fn act(&mut self, turn: &mut Turn, work: &Work, act: &Act) -> Result<(), Cut> {
        match act {
            Act::Lines(count) => self.lines(turn, work, *count)?,
            Act::Ask(command) => {
                let input = json!({ "command": command, "description": "Run a scripted command" });
                if let Some(given) = self.use_tool(turn, "Bash", input, Consent::Needed)? {
                    self.wire.tool_done(&given.call, "done")?;
                    self.say_answer(turn, given.answer.as_ref())?;
                }
            }
            Act::Asks(count) => self.asks(turn, *count, work.at_once.unwrap_or(2))?,
            Act::Question(text) => self.question(turn, text, &work.options)?,
            Act::Write(file) => self.write(turn, work, file)?,
            Act::Spawn(escape) => {
                let how = match escape {
                    Escape::Setsid => "setsid",
                    Escape::Daemon => "daemon",
                    Escape::ClearEnv => "clear_env",
                };
                let pid = family::spawn(*escape)?;
                self.home.append("effects", &format!("spawned {how} {pid}"))?;
                self.say(turn, &format!("spawned {pid}"), Flow::Whole)?;
            }
            Act::Garbage(count) => self.wire.bytes(&temper::garbage(*count))?,
            Act::Exit(code) => return Err(Cut::Leave(*code)),
            Act::Crash(signal) => temper::crash(*signal)?,
            Act::Hang => {
                temper::hang();
                return Err(Cut::Leave(1));
            }
            Act::Limited(seconds) => {
                let reset = temper::soon(*seconds)?;
                self.wire.rate_limit(reset.unix_seconds)?;
                self.pause(reset.left)?;
            }
            Act::IgnoreTerm => temper::ignore_term()?,
            Act::Fail => return Err(Cut::Failed("the work failed as it was told to".to_owned())),
        }
        Ok(())
    }

    fn lines(&mut self, turn: &mut Turn, work: &Work, count: u64) -> Result<(), Cut> {
        let flow = if work.deltas { Flow::Pieces } else { Flow::Whole };
        for nth in 0..count {
            self.pause(if nth == 0 { Duration::ZERO } else { work.every })?;
            self.acknowledge(turn)?;
            let line = format!("line {}", self.memory.lines + 1);
            let filler = work.size.saturating_sub(line.len() + 1);
            let blank = if filler > 0 { " " } else { "" };
            self.say(turn, &format!("{line}{blank}{}", "x".repeat(filler)), flow)?;
            self.memory.count_line()?;
        }
        Ok(())
    }

    fn write(&mut self, turn: &mut Turn, work: &Work, file: &str) -> Result<(), Cut> {
        let content = match &work.text {
            Some(text) => format!("{text}\n"),
            None => format!("line {}\n", self.memory.lines),
        };
        let input = json!({ "file_path": file, "content": content });
        let Some(given) = self.use_tool(turn, "Write", input, Consent::Implied)? else {
            return Ok(());
        };
        if let Some(folder) = Path::new(file).parent() {
            std::fs::create_dir_all(folder)?;
        }
        std::fs::write(file, content)?;
        self.wire.tool_done(&given.call, "the file is written")?;
        Ok(())
    }

    pub(crate) fn say(&mut self, turn: &mut Turn, text: &str, flow: Flow) -> io::Result<()> {
        turn.messages += 1;
        text.clone_into(&mut turn.last_text);
        match turn.charge {
            Charge::Turn => self.wire.text(text, flow),
            Charge::Calls => self.call(turn, &json!({ "type": "text", "text": text })),
        }
    }

    pub(crate) fn propose(&mut self, turn: &mut Turn, call: &Call) -> io::Result<()> {
        turn.messages += 1;
        match turn.charge {
            Charge::Turn => self.wire.tool_use(call),
            Charge::Calls => self.call(turn, &call.block()),
        }
    }

    fn acknowledge(&mut self, turn: &mut Turn) -> io::Result<()> {
        while let Some(steer) = self.steers.pop_front() {
            self.wire.replay(steer.frame)?;
            self.say(turn, &format!("heard: {}", steer.text), Flow::Whole)?;
        }
        Ok(())
    }

    /// Waits, and heeds what comes meanwhile. When the input has ended, nobody waits for the work after a pause.
    fn pause(&mut self, time: Duration) -> Result<(), Cut> {
        let until = Instant::now() + time;
        loop {
            match self.listen(Some(until))? {
                News::Handled => {}
                News::Quiet => return Ok(()),
                News::End if time.is_zero() => return Ok(()),
                News::End => return Err(Cut::Aborted("aborted_streaming")),
                News::Interrupt(request) => {
                    self.interrupted(&request)?;
                    self.wire.noted("[Request interrupted by user]")?;
                    return Err(Cut::Aborted("aborted_streaming"));
                }
                News::Answer(answer) => self.stray(&answer)?,
            }
        }
    }

    /// The receipt for an interrupt: which prompts still wait.
    pub(crate) fn interrupted(&mut self, request: &Json) -> io::Result<()> {
        let waiting = self.queue.iter().map(|message| message.frame["uuid"].clone());
        let receipt = json!({ "still_queued": waiting.collect::<Vec<_>>() });
        self.wire.success(request, &receipt)
    }
}
